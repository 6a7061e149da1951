package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/outward"
)

// browsers is the address at which browsers of this machine reach a server. One
// that serves a loopback address anyway has it; another opens a port when it is
// first asked for, and again the same after a restart, so that pages that are
// open find it.
type browsers struct {
	file  string
	guard *outward.Guard
	log   *slog.Logger

	mu    sync.Mutex
	url   string
	serve func(net.Listener)
	up    chan struct{} // closed once serve can be called
}

// addressFile keeps the port over restarts.
const addressFile = "ui.addr"

func newBrowsers(dataDir string, listening []net.Listener, guard *outward.Guard, log *slog.Logger) *browsers {
	b := &browsers{file: filepath.Join(dataDir, addressFile), guard: guard, log: log, up: make(chan struct{})}
	for _, l := range listening {
		if a, ok := l.Addr().(*net.TCPAddr); ok && (a.IP.IsLoopback() || a.IP.IsUnspecified()) {
			host := a.IP.String()
			if a.IP.IsUnspecified() {
				host = "127.0.0.1"
			}
			b.url = "http://" + net.JoinHostPort(host, strconv.Itoa(a.Port)) + "/"
			return b
		}
	}
	return b
}

// open returns the URL, opening the port where there is none. The first requests
// may come before the server serves browsers: they wait until it does.
func (b *browsers) open(ctx context.Context) (string, error) {
	b.mu.Lock()
	url := b.url
	b.mu.Unlock()
	if url != "" {
		return url, nil
	}
	select {
	case <-b.up:
	case <-ctx.Done():
		return "", errors.New("the server is not up yet")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.url != "" {
		return b.url, nil
	}
	return b.listen("127.0.0.1:0")
}

// listen opens a port and keeps it for the next server. The lock is held.
func (b *browsers) listen(at string) (string, error) {
	l, err := net.Listen("tcp", at)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(b.file, []byte(l.Addr().String()+"\n"), 0o600); err != nil {
		l.Close()
		return "", err
	}
	b.url = "http://" + l.Addr().String() + "/"
	b.guard.Listens(l.Addr())
	b.serve(l)
	b.log.Info("serving browsers", "address", b.url)
	return b.url, nil
}

// run serves browsers until ctx is done. A port that was open before is opened
// again; one that others have taken since is given up.
func (b *browsers) run(hs *http.Server, bound func(net.Listener) net.Listener) func(context.Context) {
	return func(ctx context.Context) {
		b.mu.Lock()
		b.serve = func(l net.Listener) {
			go func() {
				if err := hs.Serve(bound(l)); !errors.Is(err, http.ErrServerClosed) {
					b.log.Warn("browsers are not served any more", "err", err)
				}
			}()
		}
		if before, err := os.ReadFile(b.file); err == nil && b.url == "" {
			if at := strings.TrimSpace(string(before)); strings.HasPrefix(at, "127.0.0.1:") {
				if _, err := b.listen(at); err != nil {
					b.log.Warn("the port for browsers is taken", "address", at, "err", err)
				}
			}
		}
		b.mu.Unlock()
		close(b.up)
		<-ctx.Done()
		hs.Close() //nolint:errcheck // whoever is there comes back
	}
}

// hostsOf are the names by which the operator says that browsers may call the
// server.
func hostsOf(o cli.ServerOptions) []string {
	all := slices.Concat(o.Hosts, o.ACME.Domains)
	if u, err := url.Parse(o.Advertise); err == nil && u.Hostname() != "" {
		all = append(all, u.Hostname())
	}
	for _, at := range o.Listen {
		if host, _, err := net.SplitHostPort(at); err == nil && host != "" {
			all = append(all, host)
		}
	}
	return all
}
