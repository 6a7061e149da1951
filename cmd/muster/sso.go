package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/signin"
	"github.com/musterhq/muster/internal/signin/ldap"
	"github.com/musterhq/muster/internal/signin/oidc"
)

// ssoOf is by whom people sign in, as the file says that --sso names; nil: by tokens
// alone. run asks the provider about itself, beside the server.
func ssoOf(o cli.ServerOptions, log *slog.Logger) (sso *access.SSO, run func(context.Context), err error) {
	if o.SSO == "" {
		return nil, func(context.Context) {}, nil
	}
	s, err := signin.ReadFile(o.SSO)
	if err != nil {
		hint := "docs/access.md has an example"
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			hint = "name a file that the server can read"
		case errors.As(err, new(codec.Errors)):
			hint = "mend the file"
		}
		return nil, nil, precondition(fmt.Sprintf("--sso %s: %v", o.SSO, err), hint)
	}
	sso, run = &access.SSO{Session: s.SessionLife()}, func(context.Context) {}
	if s.LDAP != nil {
		d, err := ldap.New(*s.LDAP)
		if err != nil {
			return nil, nil, precondition(fmt.Sprintf("--sso %s: %v", o.SSO, err), "mend the file")
		}
		sso.Directory = d
	}
	if s.OIDC == nil {
		return sso, run, nil
	}
	p, err := oidc.New(*s.OIDC, time.Now)
	if err != nil {
		return nil, nil, precondition(fmt.Sprintf("--sso %s: %v", o.SSO, err), "mend the file")
	}
	sso.Provider = p
	return sso, func(ctx context.Context) {
		if err := p.Reach(ctx); err != nil && ctx.Err() == nil {
			log.Warn("nobody can sign in by single sign-on at present", "err", err)
		}
	}, nil
}
