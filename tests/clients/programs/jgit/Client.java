// Work with JGit over HTTP.
import java.io.File;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.util.Map;
import java.util.concurrent.Callable;
import org.eclipse.jgit.api.Git;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.transport.RefSpec;
import org.eclipse.jgit.transport.PushResult;
import org.eclipse.jgit.transport.RemoteRefUpdate;
import org.eclipse.jgit.transport.UsernamePasswordCredentialsProvider;

public class Client {
    static final String URL = System.getenv("INGOT_URL");
    static final String USER = System.getenv("INGOT_USER");
    static final String TOKEN = System.getenv("INGOT_TOKEN");

    static <T> T check(String name, Callable<T> work) {
        try {
            T value = work.call();
            System.out.println("ok - " + name);
            return value;
        } catch (Exception error) {
            System.out.println("not ok - " + name + " # " + error.toString().replaceAll("\\s+", " "));
            return null;
        }
    }

    static void require(boolean condition, String text) {
        if (!condition) throw new IllegalStateException(text);
    }

    static void push(Git git, UsernamePasswordCredentialsProvider account, String... specs) throws Exception {
        var command = git.push().setCredentialsProvider(account);
        for (String spec : specs) command.add(spec);
        for (PushResult result : command.call())
            for (RemoteRefUpdate update : result.getRemoteUpdates())
                require(update.getStatus() == RemoteRefUpdate.Status.OK, update.toString());
    }

    public static void main(String[] arguments) throws Exception {
        String body = "{\"name\": \"jgit\", \"auto_init\": true, \"private\": true}";
        var request = HttpRequest.newBuilder(URI.create(URL + "/api/v1/user/repos"))
            .header("Authorization", "token " + TOKEN).header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body)).build();
        require(HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build().send(request, HttpResponse.BodyHandlers.ofString()).statusCode() == 201, "no repository");
        String remote = URL + "/" + USER + "/jgit.git";
        var account = new UsernamePasswordCredentialsProvider(USER, TOKEN);
        Git git = check("clone with a token", () -> Git.cloneRepository().setURI(remote).setDirectory(new File("clone"))
            .setCredentialsProvider(account).call());
        Git other = check("clone with a password", () -> Git.cloneRepository().setURI(remote).setDirectory(new File("other"))
            .setCredentialsProvider(new UsernamePasswordCredentialsProvider(USER, System.getenv("INGOT_PASSWORD"))).call());
        check("shallow clone", () -> Git.cloneRepository().setURI(remote).setDirectory(new File("shallow")).setDepth(1)
            .setCredentialsProvider(account).call());
        check("clone a mirror", () -> Git.cloneRepository().setURI(remote).setDirectory(new File("mirror")).setMirror(true)
            .setCredentialsProvider(account).call());
        check("push a commit", () -> {
            Files.writeString(new File("clone/file.txt").toPath(), "text\n");
            git.add().addFilepattern("file.txt").call();
            git.commit().setMessage("add a file").setSign(false).call();
            push(git, account, "refs/heads/main");
            return null;
        });
        check("pull it", () -> {
            require(other.pull().setCredentialsProvider(account).call().isSuccessful(), "the pull failed");
            require(new File("other/file.txt").exists(), "the file is missing");
            return null;
        });
        check("push a branch and a tag", () -> {
            git.branchCreate().setName("feature").call();
            git.tag().setName("v1").setMessage("the first").setSigned(false).call();
            push(git, account, "refs/heads/feature", "refs/tags/v1");
            return null;
        });
        check("delete a branch", () -> {
            for (PushResult result : git.push().setCredentialsProvider(account).setRefSpecs(new RefSpec(":refs/heads/feature")).call())
                for (RemoteRefUpdate update : result.getRemoteUpdates())
                    require(update.getStatus() == RemoteRefUpdate.Status.OK, update.toString());
            return null;
        });
        check("list references", () -> {
            Map<String, Ref> refs = Git.lsRemoteRepository().setRemote(remote).setCredentialsProvider(account).callAsMap();
            require(refs.containsKey("refs/tags/v1") && !refs.containsKey("refs/heads/feature"), refs.keySet().toString());
            return null;
        });
    }
}
