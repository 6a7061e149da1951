package access

import (
	"context"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/session"
)

// signIn signs in by the server's identity provider, and keeps the token of the session.
func signIn(ctx context.Context, s *session.Session, here bool) error {
	return enter(ctx, s, func(c *client.Client) (*api.MadeToken, error) {
		if here {
			return signInHere(ctx, s, c)
		}
		return signInAnywhere(ctx, s, c)
	})
}

// signInByPassword signs in by the server's directory.
func signInByPassword(ctx context.Context, s *session.Session, name, file string) error {
	password, err := readHidden(ctx, s, "Password of "+name+": ", "the password", "--password-file", file)
	if err != nil {
		return err
	}
	return enter(ctx, s, func(c *client.Client) (*api.MadeToken, error) {
		in, err := c.Access.SignIn(ctx, api.SignInAnswer{User: name, Password: password})
		if err != nil {
			return nil, err
		}
		return in.Token, nil
	})
}

// enter signs in by some way, and keeps the token of the session.
func enter(ctx context.Context, s *session.Session, by func(*client.Client) (*api.MadeToken, error)) error {
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	// Without what was kept: it may be over, and lets nobody in then.
	bare, err := client.New(client.Options{Address: c.Address(), UserAgent: "muster/" + s.Program.Version.Version})
	if err != nil {
		return err
	}
	made, err := by(bare)
	if err != nil {
		return err
	}
	if err := keep(s, c.Address(), made.Text); err != nil {
		return err
	}
	if shown, err := s.Brief(made.Token, made.User); shown {
		return err
	}
	until := ""
	if made.ExpiresAt != nil {
		until = ", until " + s.Moments(session.TableFlags{}).Instant(session.TimeOf(*made.ExpiresAt))
	}
	s.Say("signed in to %s as %s%s", c.Address(), made.User, until)
	return nil
}

// signInAnywhere signs in with a browser that may be on another machine (RFC 8628).
func signInAnywhere(ctx context.Context, s *session.Session, c *client.Client) (*api.MadeToken, error) {
	d, err := c.Access.BeginDevice(ctx)
	if err != nil {
		var p *api.Problem
		if errors.As(err, &p) && p.Code == "unsupported" && s.IO.OutTerminal { // the provider offers no codes
			if ways, e := c.Access.SignInWays(ctx); e == nil && ways.Provider != "" {
				return signInHere(ctx, s, c)
			}
		}
		return nil, err
	}
	s.Say("Open %s and enter the code %s", d.Address, d.UserCode)
	if d.Complete != "" {
		s.Say("or open %s", d.Complete)
	}
	wait := time.Duration(max(d.IntervalSeconds, 1)) * time.Second
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(wait):
		}
		in, err := c.Access.SignIn(ctx, api.SignInAnswer{Device: d.Device})
		if err != nil {
			return nil, err
		}
		if !in.Pending && in.Token != nil {
			return in.Token, nil
		}
		wait += time.Duration(in.IntervalSeconds) * time.Second
	}
}

// back is what a browser came back with.
type back struct{ code, state, refused string }

// signInHere signs in with a browser on this machine, which comes back to a port that is
// open for that long (RFC 8252).
func signInHere(ctx context.Context, s *session.Session, c *client.Client) (*api.MadeToken, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	begun, err := c.Access.BeginSignIn(ctx, "http://"+l.Addr().String()+"/")
	if err != nil {
		return nil, err
	}
	came := make(chan back, 1)
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.URL.Path != "/" || subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(begun.State)) != 1 {
			http.NotFound(w, r) // it is not about this sign-in
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("The sign-in goes on in the terminal. This page can be closed.\n")) // the browser may have gone
		b := back{q.Get("code"), q.Get("state"), q.Get("error")}
		if text := q.Get("error_description"); b.refused != "" && text != "" {
			b.refused += ": " + text
		}
		select {
		case came <- b:
		default:
		}
	})}
	go server.Serve(l) //nolint:errcheck // it ends with the listener
	defer server.Close()
	s.Say("Open %s", begun.Address)
	if s.IO.OutTerminal {
		s.Browse(begun.Address)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Until(session.TimeOf(begun.ExpiresAt)))
	defer cancel()
	select {
	case <-ctx.Done():
		return nil, session.UsageError("the browser did not come back", "sign in again: muster login --browser")
	case b := <-came:
		if b.refused != "" {
			return nil, session.UsageError("the identity provider lets nobody in: "+b.refused, "sign in again")
		}
		in, err := c.Access.SignIn(ctx, api.SignInAnswer{Flow: begun.Flow, Code: b.code, State: b.state})
		if err != nil {
			return nil, err
		}
		return in.Token, nil
	}
}
