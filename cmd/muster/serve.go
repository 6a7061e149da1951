package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/heap"
	"github.com/musterhq/muster/internal/naming"
	"github.com/musterhq/muster/internal/operations"
	"github.com/musterhq/muster/internal/packed"
	"github.com/musterhq/muster/internal/program"
	"github.com/musterhq/muster/internal/server"
	"github.com/musterhq/muster/internal/serviceproxy"
	"github.com/musterhq/muster/internal/sharelink"
	"github.com/musterhq/muster/internal/systemd"
	"github.com/musterhq/muster/internal/telemetry"
	"github.com/musterhq/muster/internal/weekly"
)

// shutdownWait is what running requests get when the server ends.
const shutdownWait = 5 * time.Second

// serve runs the server until a signal or ctx ends it. Tasks go on without it.
func serve(ctx context.Context, o cli.ServerOptions) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	handed, err := systemd.Take()
	if err != nil {
		return err
	}
	program.KeepToItself()
	_, _ = installed()
	heap.Bound(heap.Server)
	log := logTo(os.Stderr, o.LogLevel)
	probes, err := openProbes(o.Probes)
	if err != nil {
		return err
	}
	defer probes.close()
	return lead(ctx, o, log, func(ctx context.Context) error { return govern(ctx, o, log, probes, handed) })
}

// govern is the life of a server that leads, if several stand ready.
func govern(ctx context.Context, o cli.ServerOptions, log *slog.Logger, probes *probes, handed systemd.Handed) error {
	lock, err := lockFor(ctx, o, log)
	if err != nil || lock == nil { // it was ended before its turn came
		return err
	}
	defer lock.Close()

	if found, err := closeDir(o.DataDir); err != nil {
		return err
	} else if found != "" {
		log.Warn("the data directory", "path", o.DataDir, "found", found)
	}
	sweep(o.DataDir, log)
	if err := refuseMoved(o.DataDir); err != nil {
		return err
	}
	acme, err := authority(o, log)
	if err != nil {
		return err
	}
	kept, err := awaitMove(ctx, o, log, probes, acme)
	if err != nil || ctx.Err() != nil {
		return err
	}
	if err := refuseEmptied(o.DataDir); err != nil {
		return err
	}
	st, err := openStore(ctx, filepath.Join(o.DataDir, "muster.db"))
	if err != nil {
		return err
	}
	defer st.Close()
	box, err := boxOf(ctx, o, st)
	if err != nil {
		return err
	}
	keys := &keyring{box: box, store: st}
	guard, err := guardOf(o)
	if err != nil {
		return err
	}
	images, err := openImages(o, guard, log)
	if err != nil {
		return err
	}
	defer images.close()
	as, err := asSubmitter(o)
	if err != nil {
		return err
	}
	where, err := openBackends(ctx, o, st, images, as, log)
	if err != nil {
		return err
	}
	defer where.close()
	tasks, taskSocket, err := forTasks(o.DataDir)
	if err != nil {
		return err
	}
	defer func() { closeTasks(o.DataDir, tasks, taskSocket) }()
	mail, err := mailOf(o)
	if err != nil {
		return err
	}
	onward, err := relayOf(o, st, log)
	if err != nil {
		return err
	}
	signed, err := checkKeys(o)
	if err != nil {
		return err
	}
	sso, reach, err := ssoOf(o, log)
	if err != nil {
		return err
	}
	review, err := where.tokenReview(o)
	if err != nil {
		return err
	}
	started, post := time.Now(), make(bell, 1)
	models := filepath.Join(o.DataDir, "models")
	hands := operations.New(operations.Config{
		Store: st, Log: log, Clock: time.Now, Images: images.store, Registry: images.registry(), Target: o.Registry,
		Credentials: keys.credentials, BuildLogs: filepath.Join(o.DataDir, "builds"), Models: models, Installer: images.installer(),
		HTTP: guarded(guard), Carry: guard.Transport, Secret: keys.named, CheckKeys: signed,
	})
	tracer, taskEnv := openTracer(o, log)
	seen, why, nodes, meter := openMeasured(o, log), openWaited(o, log), openNodesPast(o, log), telemetry.NewMeter()
	curves, err := openReported(o, st, log)
	if err != nil {
		return err
	}
	ctl, err := control.New(ctx, control.Options{Deps: draft.Deps{
		Store: st, Holder: holder(), Log: log, Elapsed: func() time.Duration { return time.Since(started) },
		NewID: naming.NewID(rand.Reader), NewName: naming.NewName(rand.Reader), Port: freePort(),
		Images: where.images, Builds: images.store != nil, Secrets: keys, Self: forTheirUse(o.DataDir), Models: models,
		Policy: policyOf(o), Past: draft.Past{Window: o.PastWindow, HalfLife: o.PastHalfLife},
		NodeGrace: o.NodeGrace, Reach: wayOf(where, taskSocket, o.Advertise), AsSubmitter: as != nil, Mail: mail.Server != "", Deliver: post.ring, Recorded: onward.Ring,
		Failed: newFaults(filepath.Join(o.DataDir, "faults"), time.Now, log).keep,
		Meter:  meter, TaskEnv: taskEnv,
	}, Series: seen.Store, Waited: why.Ledger, NodePast: nodes.Ledger, SampleEvery: o.Monitor.SampleEvery, Former: where.former}, where.all, hands, time.Now)
	if err != nil {
		return err
	}
	guard.Shared(func() bool { return ctl.Rights().Enabled() })
	services := serviceproxy.New(serviceproxy.Config{Control: ctl, Log: log, Every: o.Monitor.SampleEvery})

	listeners, address, err := listen(o, handed.Listeners, kept, acme)
	if err != nil {
		return err
	}
	acme.Keep(ctx) // the authority asks here whether it is us
	for _, l := range listeners {
		guard.Listens(l.Addr())
	}
	guard.Listens(probes.at)
	token, err := tokenOf(o, len(o.Listen) > 0)
	if err != nil {
		return err
	}
	v, browsers := program.Version(), newBrowsers(o.DataDir, listeners, guard, log)
	status, err := statusOf(ctx, st, api.ServerStatus{PID: os.Getpid(), Address: address, DataDir: o.DataDir, Version: v.Version, StartedAt: api.Time(started), FakeGPUs: o.FakeGPUs})
	if err != nil {
		return err
	}
	shares, err := sharesOf(o)
	if err != nil {
		return err
	}
	weeks, err := weekly.Open(filepath.Join(o.DataDir, "weekly.json"))
	if err != nil {
		return err
	}
	srv := server.New(server.Config{
		Control: ctl, Clock: time.Now, Log: log, Version: v, Token: token, Sealer: keys, BuildLogs: filepath.Join(o.DataDir, "builds"),
		LoggedOut: filepath.Join(o.DataDir, "logged-out.json"), TaskSocket: taskSocket, MAC: keys.Token, Collectors: []prometheus.Collector{meter, telemetry.NewGauges(ctl), onward},
		Address: browsers.open, Hosts: hostsOf(o), Accounts: accountsOf(as), SSO: sso, Cluster: review, Reported: curves.Store,
		Shares: shares, Mail: mailReports(mail), Weekly: weeks, RequestRate: o.RequestRate,
		Status: status,
	})
	probes.pass(srv.Probes())
	operator, err := where.operator(o, address, srv, log)
	if err != nil {
		return err
	}
	log.Info("serving", "address", address, "data", o.DataDir, "version", v.Version)
	err = work(ctx, ctl, srv, append(listeners, tasks), services.Run, seen.run, why.run, nodes.run, curves.run, tracing(tracer, ctl), operator, where.mirror(o, ctl, log), openToMachine(as, ctl, log), browsers.run(srv.Listener(), srv.Bound), notifySystemd(handed, log), reach, notifier(ctl, guard, keys, mail, post, cmp.Or(o.Advertise, "muster"), log).Run, onward.Run, srv.Weekly)
	rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownWait)
	defer cancel()
	// Its helper has no reason to stay where nothing runs. One that does not hear
	// that is no fault of a server that has done its work.
	if e := where.retire(rctx); e != nil {
		log.Warn("the supervisor of tasks was not told that it may end", "err", e)
	}
	return err
}

// notifySystemd tells systemd that the backends have reported, and when the server ends.
func notifySystemd(handed systemd.Handed, log *slog.Logger) func(context.Context) {
	report := func(state string) {
		if err := handed.Notify(state); err != nil {
			log.Warn("systemd may think that the server does not start", "err", err)
		}
	}
	return func(ctx context.Context) {
		report("READY=1")
		<-ctx.Done()
		report("STOPPING=1")
	}
}

// sweep removes what other versions of this program have unpacked. This server holds
// the lock, so that none of them will start it again.
func sweep(dir string, log *slog.Logger) {
	self, err := os.Executable()
	if err == nil {
		err = packed.Sweep(dir, self)
	}
	if err != nil {
		log.Warn("what another version has unpacked takes room on", "err", err)
	}
}

// work runs the control loop and the listeners until ctx is done or one fails.
// Whatever is beside them begins once the backends have reported.
func work(ctx context.Context, ctl *control.Control, srv *server.Server, listeners []net.Listener, beside ...func(context.Context)) error {
	ctx, cancel := context.WithCancel(ctx)
	var serving sync.WaitGroup
	defer serving.Wait()
	defer cancel()
	failed := make(chan error, len(listeners)+1)
	done := make(chan error, 1)
	go func() { done <- ctl.Run(ctx) }()
	for _, run := range beside {
		serving.Go(func() {
			select {
			case <-ctl.Ready():
				run(ctx)
			case <-ctx.Done():
			}
		})
	}
	hs := srv.Listener()
	for _, l := range listeners {
		go func() {
			if err := hs.Serve(srv.Bound(l)); !errors.Is(err, http.ErrServerClosed) {
				failed <- err
			}
		}()
	}
	var err error
	ended := false
	select {
	case <-ctx.Done():
	case err = <-failed:
	case err = <-done:
		ended = true
	}
	srv.Close()
	sctx, scancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownWait)
	defer scancel()
	err = errors.Join(err, ignoreDeadline(hs.Shutdown(sctx)))
	cancel()
	if !ended {
		err = errors.Join(err, <-done)
	}
	return err
}

func ignoreDeadline(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // whoever was slow is cut off
	}
	return err
}

// freePort proposes ports for gangs: one that nobody listens on at present and
// that was not proposed lately. Servers of one machine begin at places of their own:
// nobody listens yet on what another has just proposed.
func freePort() func() int {
	const first, span = 29500, 3000 // torchrun's default begins this range
	next := os.Getpid() * 37 % span
	return func() int {
		for range span {
			port := first + next%span
			next++
			l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
			if err == nil {
				l.Close()
				return port
			}
		}
		return first
	}
}

// policyOf is how the server schedules, as its flags say.
func policyOf(o cli.ServerOptions) schedule.Policy {
	options := []schedule.Option{schedule.PastWeight(o.PastWeight), schedule.MoveRest(o.MoveRest)}
	if o.InOrder {
		options = append(options, schedule.InOrder())
	}
	return schedule.NewPolicy(options...)
}

// sharesOf are the links that show workloads without an account; nil: they are off.
func sharesOf(o cli.ServerOptions) (*sharelink.Kept, error) {
	if !o.ShareLinks {
		return nil, nil
	}
	return sharelink.Open(filepath.Join(o.DataDir, "shares.json"))
}
