package sshserver

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"io"
	"net"
	"testing"

	"golang.org/x/crypto/ssh"
)

// echoing is a task with a port that answers what it was sent, once all of
// that is there.
type echoing struct{ ended chan error }

func (echoing) Run(context.Context, Command) (int, error) { return 0, nil }

func (t echoing) Dial(ctx context.Context, port int, conn net.Conn) error {
	defer func() { _ = conn.Close() }()
	if port == 9 { // it answers nothing, and waits
		<-ctx.Done()
		t.ended <- ctx.Err()
		return ctx.Err()
	}
	all, err := io.ReadAll(conn)
	if err == nil {
		_, err = conn.Write(bytes.ToUpper(all))
	}
	t.ended <- err
	return err
}

// client is one of a server that serves a task over one connection.
func client(t *testing.T, task Task) *ssh.Client {
	t.Helper()
	key := func(seed byte) ssh.Signer {
		signer, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize)))
		if err != nil {
			t.Fatal(err)
		}
		return signer
	}
	host, user := key(1), key(2)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	near, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- Serve(t.Context(), far, Keys{Host: host, User: user.PublicKey()}, task) }()
	conn, channels, requests, err := ssh.NewClientConn(near, "task", &ssh.ClientConfig{
		User: "muster", Auth: []ssh.AuthMethod{ssh.PublicKeys(user)}, HostKeyCallback: ssh.FixedHostKey(host.PublicKey()),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(); <-served })
	return ssh.NewClient(conn, channels, requests)
}

func forward(t *testing.T, c *ssh.Client, port uint32) ssh.Channel {
	t.Helper()
	ch, requests, err := c.OpenChannel("direct-tcpip", ssh.Marshal(struct {
		Host       string
		Port       uint32
		OriginHost string
		OriginPort uint32
	}{"localhost", port, "127.0.0.1", 1}))
	if err != nil {
		t.Fatal(err)
	}
	go ssh.DiscardRequests(requests)
	return ch
}

// Whoever has said all it has to say, as nc -N does, still hears the answer.
func TestAnAnswerComesAfterTheQuestionHasEnded(t *testing.T) {
	t.Parallel()
	task := echoing{ended: make(chan error, 1)}
	ch := forward(t, client(t, task), 80)
	if _, err := io.WriteString(ch, "hello"); err != nil {
		t.Fatal(err)
	}
	if err := ch.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(ch)
	if string(got) != "HELLO" || err != nil {
		t.Errorf("the answer is %q: %v", got, err)
	}
	if err := <-task.ended; err != nil {
		t.Error(err)
	}
}

// A connection that is closed altogether ends, though the task says nothing.
func TestAClosedConnectionEnds(t *testing.T) {
	t.Parallel()
	task := echoing{ended: make(chan error, 1)}
	c := client(t, task)
	if err := forward(t, c, 9).Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-task.ended; err == nil {
		t.Error("it did not end for that")
	}
}
