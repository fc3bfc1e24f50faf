module ingot/clients

go 1.26

require code.gitea.io/sdk/gitea v0.25.1 // indirect
