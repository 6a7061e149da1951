package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"strings"

	"k8s.io/klog/v2"
)

// logTo is the log of a server. What the client of Kubernetes has to say, which
// else writes in a form of its own, goes there too.
func logTo(w io.Writer, level slog.Leveler) *slog.Logger {
	log := slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
	klog.SetSlogLogger(slog.New(unclosed{log.Handler()}).With("from", "client-go"))
	return log
}

// unclosed is a log without the errors of connections that this program itself
// has closed: the client of Kubernetes has several for each command in a pod.
type unclosed struct{ slog.Handler }

// Handle implements slog.Handler.
func (u unclosed) Handle(ctx context.Context, r slog.Record) error {
	closed := func(text string) bool { return strings.Contains(text, net.ErrClosed.Error()) }
	ours := closed(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		ours = ours || a.Key == "err" && closed(a.Value.String())
		return !ours
	})
	if ours {
		return nil
	}
	return u.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (u unclosed) WithAttrs(attrs []slog.Attr) slog.Handler {
	return unclosed{u.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (u unclosed) WithGroup(name string) slog.Handler { return unclosed{u.Handler.WithGroup(name)} }
