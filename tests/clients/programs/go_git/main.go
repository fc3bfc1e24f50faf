// Work with go-git over HTTP and SSH.
package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	git "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	gitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"golang.org/x/crypto/ssh"
)

var url, user, token = os.Getenv("INGOT_URL"), os.Getenv("INGOT_USER"), os.Getenv("INGOT_TOKEN")

func check(name string, do func() error) {
	if err := do(); err != nil {
		fmt.Printf("not ok - %s # %s\n", name, strings.Join(strings.Fields(err.Error()), " "))
		return
	}
	fmt.Printf("ok - %s\n", name)
}

// post sends one request that prepares the work.
func post(path string, body any) {
	text, _ := json.Marshal(body)
	request, _ := http.NewRequest("POST", url+"/api/v1"+path, bytes.NewReader(text))
	request.Header.Set("Authorization", "token "+token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil || answer.StatusCode != 201 {
		fmt.Fprintln(os.Stderr, path, err, answer)
		os.Exit(1)
	}
}

func exercise(name, remote string, auth transport.AuthMethod) {
	var repository, other *git.Repository
	folder := strings.ReplaceAll(name, " ", "-") + "-clone"
	signature := &object.Signature{Name: user, Email: user + "@example.org", When: time.Now()}
	check("clone by "+name, func() (err error) {
		repository, err = git.PlainClone(folder, false, &git.CloneOptions{URL: remote, Auth: auth})
		return err
	})
	check("clone one branch with depth 1 by "+name, func() (err error) {
		other, err = git.PlainClone(folder+"-other", false, &git.CloneOptions{
			URL: remote, Auth: auth, Depth: 1, SingleBranch: true, ReferenceName: "refs/heads/main",
		})
		return err
	})
	if repository == nil || other == nil {
		return
	}
	var head plumbing.Hash
	check("push a commit by "+name, func() error {
		if err := os.WriteFile(filepath.Join(folder, "file.txt"), []byte("text\n"), 0o644); err != nil {
			return err
		}
		tree, err := repository.Worktree()
		if err != nil {
			return err
		}
		if _, err = tree.Add("file.txt"); err != nil {
			return err
		}
		if head, err = tree.Commit("add a file", &git.CommitOptions{Author: signature}); err != nil {
			return err
		}
		return repository.Push(&git.PushOptions{Auth: auth})
	})
	check("pull it by "+name, func() error {
		tree, err := other.Worktree()
		if err != nil {
			return err
		}
		if err = tree.Pull(&git.PullOptions{Auth: auth}); err != nil {
			return err
		}
		if now, err := other.Head(); err != nil || now.Hash() != head {
			return fmt.Errorf("the head is %v, not %v: %v", now, head, err)
		}
		return nil
	})
	check("push a branch and a tag atomically by "+name, func() error {
		if err := repository.Storer.SetReference(plumbing.NewHashReference("refs/heads/feature", head)); err != nil {
			return err
		}
		if _, err := repository.CreateTag("v1", head, &git.CreateTagOptions{Tagger: signature, Message: "the first"}); err != nil {
			return err
		}
		return repository.Push(&git.PushOptions{
			Auth: auth, Atomic: true, RefSpecs: []config.RefSpec{"refs/heads/feature:refs/heads/feature", "refs/tags/v1:refs/tags/v1"},
		})
	})
	check("delete a branch by "+name, func() error {
		return repository.Push(&git.PushOptions{Auth: auth, RefSpecs: []config.RefSpec{":refs/heads/feature"}})
	})
	check("list references by "+name, func() error {
		remote, err := repository.Remote("origin")
		if err != nil {
			return err
		}
		refs, err := remote.List(&git.ListOptions{Auth: auth})
		if err != nil {
			return err
		}
		var names []string
		for _, ref := range refs {
			names = append(names, ref.Name().String())
		}
		all := strings.Join(names, " ")
		if !strings.Contains(all, "refs/tags/v1") || strings.Contains(all, "refs/heads/feature") {
			return fmt.Errorf("the references are %s", all)
		}
		return nil
	})
}

func main() {
	for _, name := range []string{"go-git-http", "go-git-bearer", "go-git-ssh"} {
		post("/user/repos", map[string]any{"name": name, "auto_init": true, "private": true})
	}
	basic := &githttp.BasicAuth{Username: user, Password: token}
	exercise("HTTP", fmt.Sprintf("%s/%s/go-git-http.git", url, user), basic)
	exercise("HTTP with a bearer token", fmt.Sprintf("%s/%s/go-git-bearer.git", url, user), &githttp.TokenAuth{Token: token})

	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	key, _ := ssh.NewPublicKey(public)
	post("/user/keys", map[string]any{"title": "go-git", "key": string(ssh.MarshalAuthorizedKey(key))})
	block, _ := ssh.MarshalPrivateKey(private, "")
	auth, err := gitssh.NewPublicKeys("git", pem.EncodeToMemory(block), "")
	if err != nil {
		panic(err)
	}
	auth.HostKeyCallback = ssh.InsecureIgnoreHostKey()
	exercise("SSH", fmt.Sprintf("ssh://git@127.0.0.1:%s/%s/go-git-ssh.git", os.Getenv("INGOT_SSH_PORT"), user), auth)
}
