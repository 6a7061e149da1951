package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/notify"
	"github.com/musterhq/muster/internal/outward"
	"github.com/musterhq/muster/internal/weekly"
)

// Value is the value of a secret of type env or mounted.
func (k *keyring) Value(s core.Secret) (string, error) {
	values, err := k.box.Unseal(s)
	if err != nil {
		return "", err
	}
	v, ok := values["value"]
	if !ok {
		return "", errors.New("a secret of type " + s.Type + " has no single value")
	}
	return string(v), nil
}

// mailOf is how the server sends mail.
func mailOf(o cli.ServerOptions) (notify.Mail, error) {
	m := notify.Mail{Server: o.SMTPServer, From: o.SMTPFrom, User: o.SMTPUser, Plain: o.SMTPPlain}
	if m.Server == "" {
		if o.SMTPFrom+o.SMTPUser+o.SMTPPasswordFile != "" {
			return m, precondition("--smtp-from, --smtp-user and --smtp-password-file say nothing without --smtp-server", "add --smtp-server HOST:PORT")
		}
		return m, nil
	}
	if _, _, err := net.SplitHostPort(m.Server); err != nil {
		return m, precondition(fmt.Sprintf("--smtp-server: %q is not HOST:PORT", m.Server), "like smtp.example.com:587")
	}
	if !spec.Address(m.From) {
		return m, precondition(fmt.Sprintf("--smtp-from: %q is not an address", m.From), "like muster@example.com")
	}
	if (o.SMTPUser == "") != (o.SMTPPasswordFile == "") {
		return m, precondition("--smtp-user and --smtp-password-file go together", "give both, or neither")
	}
	if o.SMTPPasswordFile != "" {
		b, err := os.ReadFile(o.SMTPPasswordFile)
		if err != nil {
			return m, precondition(fmt.Sprintf("--smtp-password-file: %v", err), "name a file that the server can read")
		}
		if m.Password = strings.TrimRight(string(b), "\r\n"); m.Password == "" {
			return m, precondition("--smtp-password-file: "+o.SMTPPasswordFile+" is empty", "write the password into it")
		}
	}
	return m, nil
}

// notifier sends what ctl has to tell.
func notifier(ctl *control.Control, guard *outward.Guard, keys *keyring, mail notify.Mail, woken bell, source string, log *slog.Logger) *notify.Sender {
	return notify.New(notify.Config{Outbox: ctl.Deliveries(), Log: log, Clock: time.Now, Open: keys.Value, Mail: mail, Woken: woken, Source: source, Carry: guard.Transport})
}

// mailReports hands reports of weeks to a mail server; nil: there is none.
func mailReports(m notify.Mail) weekly.Mail {
	if m.Server == "" {
		return nil
	}
	return func(ctx context.Context, l weekly.Letter) error {
		err := m.Send(ctx, notify.Letter(l))
		if notify.Never(err) {
			return errors.Join(err, weekly.ErrNever)
		}
		return err
	}
}

// named is the value of a user's secret of type env or mounted.
func (k *keyring) named(ctx context.Context, id core.SecretID) (string, error) {
	all, err := k.store.Secrets(ctx)
	if err != nil {
		return "", err
	}
	for _, s := range all {
		if s.User == id.User && s.Name == id.Name {
			return k.Value(s)
		}
	}
	return "", errors.New("it is there no more")
}

// bell is rung by the control plane where it has something to send.
type bell chan struct{}

// ring never waits.
func (b bell) ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}
