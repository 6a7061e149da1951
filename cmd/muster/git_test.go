package main

import (
	"encoding/pem"
	"fmt"
	"net"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// gitserver makes a repository, acme/tool, with a branch next, and serves it
// over https, and over ssh where there is an sshd:
//
//	GIT_HTTPS  https://host:port/acme/tool.git
//	GIT_CA     file of the certificate that it shows
//	GIT_SSH    ssh://user@127.0.0.1:port/…/tool.git
//	GIT_KEY    file of the private key that opens it
//	GIT_FIRST  id of the first commit
func gitserver(ts *testscript.TestScript, _ bool, _ []string) {
	root := ts.MkAbs("git")
	repo := filepath.Join(root, "acme", "tool.git")
	work := filepath.Join(root, "work")
	git := func(dir string, args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+root, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		out, err := cmd.CombinedOutput()
		if err != nil {
			ts.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	ts.Check(os.MkdirAll(work, 0o755))
	commit := func(text string) {
		ts.Check(os.WriteFile(filepath.Join(work, "version"), []byte(text+"\n"), 0o644))
		git(work, "add", ".")
		git(work, "commit", "-q", "-m", text)
	}
	git(work, "init", "-q", "-b", "main")
	commit("first")
	ts.Setenv("GIT_FIRST", git(work, "rev-parse", "HEAD"))
	commit("second")
	git(work, "checkout", "-q", "-b", "next")
	commit("third")
	git(work, "checkout", "-q", "main")
	git(root, "clone", "-q", "--bare", work, repo)
	git(repo, "config", "uploadpack.allowReachableSHA1InWant", "true")

	backend := filepath.Join(git(root, "--exec-path"), "git-http-backend")
	srv := httptest.NewTLSServer(&cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + root}})
	ts.Defer(srv.Close)
	ts.Setenv("GIT_HTTPS", srv.URL+"/acme/tool.git")
	ca := filepath.Join(root, "ca.pem")
	ts.Check(os.WriteFile(ca, pemOf(srv), 0o644))
	ts.Setenv("GIT_CA", ca)
	sshd(ts, root, repo)
}

// sshd serves ssh on loopback for the user that runs the tests, with a key of
// its own and nothing of the machine's configuration.
func sshd(ts *testscript.TestScript, root, repo string) {
	const program = "/usr/sbin/sshd"
	if _, err := os.Stat(program); err != nil {
		return
	}
	key := func(name string) string {
		path := filepath.Join(root, name)
		out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path).CombinedOutput()
		if err != nil {
			ts.Fatalf("ssh-keygen: %v\n%s", err, out)
		}
		return path
	}
	host, client := key("host"), key("client")
	pub, err := os.ReadFile(client + ".pub")
	ts.Check(err)
	ts.Check(os.WriteFile(filepath.Join(root, "authorized"), pub, 0o600))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	port := l.Addr().(*net.TCPAddr).Port
	ts.Check(l.Close())
	ts.Check(os.MkdirAll("/run/sshd", 0o755)) // where sshd separates its privileges
	config := fmt.Sprintf("Port %d\nListenAddress 127.0.0.1\nHostKey %s\nAuthorizedKeysFile %s\nPasswordAuthentication no\nUsePAM no\nStrictModes no\nPidFile none\nPermitRootLogin yes\n",
		port, host, filepath.Join(root, "authorized"))
	path := filepath.Join(root, "sshd_config")
	ts.Check(os.WriteFile(path, []byte(config), 0o600))
	cmd := exec.Command(program, "-D", "-e", "-f", path)
	ts.Check(cmd.Start())
	ts.Defer(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	user := os.Getenv("USER")
	if user == "" {
		user = "root"
	}
	ts.Setenv("GIT_SSH", "ssh://"+user+"@127.0.0.1:"+strconv.Itoa(port)+repo)
	ts.Setenv("GIT_KEY", client)
}

func pemOf(srv *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
}
