package main

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/certs"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/handover"
	"github.com/musterhq/muster/internal/program"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqlstore"
)

// awaiting is a server without records, until those of another machine have come. It
// answers where it stands, takes them, and refuses everything else: whatever it began
// by itself would be in their way.
type awaiting struct {
	o      cli.ServerOptions
	token  string
	status api.ServerStatus
	log    *slog.Logger
	taking sync.Mutex
	taken  chan struct{}
}

// awaitMove returns when the data directory has records, at once where it has some, or
// when ctx is done, or with an error. The listeners that it has opened, by what --listen
// says, stay open for the server that begins: who comes meanwhile waits, and what leads
// here from elsewhere (kubectl port-forward ends where nobody listens) does not break.
func awaitMove(ctx context.Context, o cli.ServerOptions, log *slog.Logger, probes *probes, acme *certs.Manager) (kept map[string]net.Listener, err error) {
	if empty, err := handover.Empty(o.DataDir); err != nil || !empty || !o.AwaitMove {
		return nil, err
	}
	newest, err := sqlstore.Newest()
	if err != nil {
		return nil, err
	}
	token, err := tokenOf(o, true)
	if err != nil {
		return nil, err
	}
	kept = map[string]net.Listener{}
	defer func() {
		if err != nil || ctx.Err() != nil {
			for _, l := range kept {
				_ = l.Close() // the process ends
			}
		}
	}()
	a := &awaiting{o: o, token: token, log: log, taken: make(chan struct{}), status: api.ServerStatus{
		PID: os.Getpid(), Address: strings.Join(o.Listen, ","), DataDir: o.DataDir, Version: program.Version().Version, StartedAt: api.Time(time.Now()), Format: newest, AwaitsMove: true,
	}}
	srv := &http.Server{Handler: a, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	failed := make(chan error, len(o.Listen))
	for _, at := range o.Listen {
		own, err := net.Listen("tcp", at)
		var l net.Listener
		if err == nil {
			kept[at] = own
			l, err = encrypted(lent{own.(*net.TCPListener)}, o, acme)
		}
		if err != nil {
			return kept, errors.Join(fmt.Errorf("--listen %q: %w", at, err), srv.Close())
		}
		go func() {
			if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				failed <- err
			}
		}()
	}
	acme.Keep(ctx)
	probes.pass(a)
	log.Info("awaiting the records of another machine", "address", a.status.Address, "data", o.DataDir, "version", a.status.Version)
	select {
	case <-ctx.Done():
		return kept, srv.Close()
	case err := <-failed:
		return kept, errors.Join(err, srv.Close())
	case <-a.taken:
	}
	sctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownWait)
	defer cancel()
	probes.next.Store(nil) // it has only begun
	err = ignoreDeadline(srv.Shutdown(sctx))
	for _, l := range kept {
		err = errors.Join(err, l.(*net.TCPListener).SetDeadline(time.Time{}))
	}
	return kept, err
}

// lent is a listener that whoever closes it gives back, open.
type lent struct{ *net.TCPListener }

// Close ends the Accept that waits.
func (l lent) Close() error { return l.SetDeadline(time.Unix(1, 0)) }

// ServeHTTP answers probes to anyone, and all else to who has the token.
func (a *awaiting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/livez", "/healthz", "/readyz": // it is ready for what it is there for
		fmt.Fprintln(w, "ok")
		return
	}
	shown, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case !ok || subtle.ConstantTimeCompare([]byte(shown), []byte(a.token)) != 1:
		reply(w, http.StatusUnauthorized, problemOf(http.StatusUnauthorized, "unauthenticated", "this server takes its token, and that is none or another", "give it by --token-file or MUSTER_TOKEN"))
	case r.Method == http.MethodGet && r.URL.Path == "/v1/server":
		reply(w, http.StatusOK, a.status)
	case r.Method == http.MethodPut && r.URL.Path == "/v1/server/move":
		a.take(w, r)
	default:
		reply(w, http.StatusServiceUnavailable, problemOf(http.StatusServiceUnavailable, "unavailable", "this server has nothing yet, and waits for the records of another machine",
			"muster server move there; or start this one without --await-move"))
	}
}

func (a *awaiting) take(w http.ResponseWriter, r *http.Request) {
	if !a.taking.TryLock() {
		reply(w, http.StatusConflict, problemOf(http.StatusConflict, "conflict", "records are coming in already", "wait for the other move to end"))
		return
	}
	select {
	case <-a.taken: // between the last byte and the end of this listener
		a.taking.Unlock()
		reply(w, http.StatusServiceUnavailable, problemOf(http.StatusServiceUnavailable, "unavailable", "the records have come, and the server is about to start", "try again"))
		return
	default:
	}
	defer a.taking.Unlock()
	m, err := handover.Take(r.Body, a.o.DataDir, a.first, func(stage string, m handover.Manifest) error { return a.check(r.Context(), stage, m) })
	if err != nil {
		a.log.Warn("records of another machine were not taken", "err", err)
		var p *api.Problem
		switch {
		case errors.As(err, &p):
		case errors.Is(err, handover.ErrStream):
			p = problemOf(http.StatusBadRequest, "invalid", err.Error(), "move again: nothing was kept of it")
		default:
			p = problemOf(http.StatusConflict, "conflict", "nothing was kept: "+err.Error(), "mend that on the machine of the server that takes it, and move again")
		}
		if empty, e := handover.Empty(a.o.DataDir); e != nil || !empty {
			p = problemOf(http.StatusInternalServerError, "internal", err.Error(), "see this server's log")
			close(a.taken) // they are in their place all the same
		}
		reply(w, p.Status, p)
		return
	}
	a.log.Info("the records of another machine have come", "from", m.From, "installation", m.Installation)
	reply(w, http.StatusOK, movedOf(m))
	close(a.taken)
}

// first refuses what this version cannot read, before it has come.
func (a *awaiting) first(m handover.Manifest) error {
	if m.Format > a.status.Format {
		return precondition(fmt.Sprintf("these records have the format %d, and this server (%s) reads up to %d", m.Format, a.status.Version, a.status.Format), "use the version that wrote them ("+m.Version+"), or a later one")
	}
	return nil
}

// check opens the records, and takes from them what was about the machine they come from.
func (a *awaiting) check(ctx context.Context, stage string, m handover.Manifest) error {
	st, err := openStore(ctx, filepath.Join(stage, handover.Database))
	if err != nil {
		return err
	}
	defer st.Close()
	if err := refuseKeyless(ctx, stage, st); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(stage, vaultFile)); err == nil && a.o.SecretsVault == "" && a.o.SecretsKeyFile == "" {
		return precondition("the keys of these secrets are kept elsewhere, and this server was started without --secrets-vault or --secrets-key-file", "start it with that too, and move again")
	}
	return forgetNode(ctx, st, m.Node)
}

// forgetNode drops what was said of the machine as a node: it was drained so that it
// could be left, and a node of the cluster may be called the same.
func forgetNode(ctx context.Context, st store.Store, node string) error {
	all, err := st.Nodes(ctx)
	if err != nil {
		return err
	}
	for _, n := range all {
		if string(n.ID) != node {
			continue
		}
		term, err := st.Acquire(ctx, holder())
		if err != nil {
			return err
		}
		if _, err := st.Commit(ctx, term, &store.Batch{Nodes: []core.NodeSetting{{ID: n.ID}}}); err != nil {
			return err
		}
	}
	return nil
}

func movedOf(m handover.Manifest) *api.Moved {
	return &api.Moved{ID: m.ID, From: m.From, At: api.Time(m.At)}
}

// statusOf completes what a server says of itself by what its records are.
func statusOf(ctx context.Context, st store.Store, status api.ServerStatus) (api.ServerStatus, error) {
	m, err := handover.HereOf(status.DataDir)
	if err != nil {
		return status, err
	}
	if m != nil {
		status.Moved = movedOf(*m)
	}
	if status.Format, err = sqlstore.Newest(); err == nil {
		status.Installation, err = st.Installation(ctx)
	}
	return status, err
}

func problemOf(status int, code, detail, hint string) *api.Problem {
	return &api.Problem{Title: http.StatusText(status), Status: status, Code: code, Detail: detail, Hint: hint}
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // who has gone does not read it
}
