package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// mailserver starts a mail server on loopback, which lets muster in with the
// password pw and appends what it is given to a file: mailserver FILE. Its
// address is $SMTP.
func mailserver(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: mailserver FILE")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	s := &mailbox{file: ts.MkAbs(args[0])}
	ts.Defer(func() { l.Close() })
	ts.Setenv("SMTP", l.Addr().String())
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(c)
		}
	}()
}

// mailbox is what a mail server keeps.
type mailbox struct {
	sync.Mutex
	file string
}

// serve speaks SMTP (RFC 5321) with AUTH PLAIN (RFC 4954) to one client.
func (s *mailbox) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	say := func(format string, args ...any) { fmt.Fprintf(c, format+"\r\n", args...) }
	say("220 mail.example ESMTP")
	known, envelope := false, ""
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		verb, rest, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		switch verb = strings.ToUpper(verb); {
		case verb == "EHLO":
			say("250-mail.example")
			say("250 AUTH PLAIN")
		case verb == "AUTH":
			word := base64.StdEncoding.EncodeToString([]byte("\x00muster\x00pw"))
			if known = rest == "PLAIN "+word; known {
				say("235 welcome")
			} else {
				say("535 no")
			}
		case verb == "QUIT":
			say("221 bye")
			return
		case !known:
			say("530 authenticate first")
		case verb == "MAIL" || verb == "RCPT":
			if envelope += rest + "\n"; strings.Contains(rest, "nobody@") {
				say("550 there is no such user")
				continue
			}
			say("250 ok")
		case verb == "DATA":
			say("354 go on")
			text, err := readMail(in)
			if err != nil || s.keep(envelope+text) != nil {
				say("451 try again")
				return
			}
			envelope = ""
			say("250 kept")
		default:
			say("250 ok")
		}
	}
}

// readMail reads until the line with a dot alone.
func readMail(in *bufio.Reader) (string, error) {
	var b strings.Builder
	for {
		line, err := in.ReadString('\n')
		if err != nil || line == ".\r\n" {
			return b.String(), err
		}
		b.WriteString(strings.TrimRight(line, "\r\n") + "\n")
	}
}

func (s *mailbox) keep(text string) error {
	s.Lock()
	defer s.Unlock()
	f, err := os.OpenFile(s.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text); err != nil {
		return err
	}
	return f.Close()
}
