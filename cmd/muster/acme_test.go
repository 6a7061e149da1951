package main

import (
	"crypto/tls"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/musterhq/muster/internal/testing/acmetest"
)

// authorities are those of scripts, by their directories.
var authorities sync.Map

// acmeauthority starts an authority that speaks ACME and asks names at $FREE, a HOST:PORT
// for a server. Its directory is $DIRECTORY, what it is known by $AUTHORITY. showscert
// is who connects to $FREE by a name and looks at what is shown: showscert NAME.
func acmeauthority(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: acmeauthority")
	}
	freePortFor(ts)
	_, port, err := net.SplitHostPort(ts.Getenv("FREE"))
	ts.Check(err)
	n, err := strconv.Atoi(port)
	ts.Check(err)
	a, err := acmetest.Start(ts.Getenv("WORK"), n, 3600)
	ts.Check(err)
	ts.Defer(a.Close)
	ts.Setenv("DIRECTORY", a.Directory)
	ts.Setenv("AUTHORITY", a.CAFile)
	authorities.Store(ts.Getenv("WORK"), a)
}

// showscert connects to $FREE until what it is shown for a name comes from the
// authority; with ! it must never.
func showscert(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: [!] showscert NAME")
	}
	a, ok := authorities.Load(ts.Getenv("WORK"))
	if !ok {
		ts.Fatalf("there is no authority")
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		c, err := tls.Dial("tcp", ts.Getenv("FREE"), &tls.Config{RootCAs: a.(*acmetest.Authority).Roots, ServerName: args[0], MinVersion: tls.VersionTLS12})
		if err == nil {
			_ = c.Close()
		}
		switch {
		case neg && err == nil:
			ts.Fatalf("a certificate for %s is shown", args[0])
		case neg && !strings.Contains(err.Error(), "refused"), !neg && err == nil:
			return
		case time.Now().After(deadline):
			ts.Fatalf("%v", err)
		}
	}
}
