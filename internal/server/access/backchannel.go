package access

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/signin"
)

// logoutMost bounds what a provider sends, in bytes: one token.
const logoutMost = 64 << 10

// backChannelRoute is where an identity provider says that a session there is over
// (OpenID Connect back-channel logout).
func (s *Guard) backChannelRoute(a huma.API) {
	huma.Register(a, huma.Operation{
		OperationID: "signed-out-at-provider", Method: http.MethodPost, Path: signInPath + "/logout", Summary: "For the identity provider: a session there is over, and those here end that began by it (OpenID Connect back-channel logout)", Tags: []string{"session"},
		DefaultStatus: http.StatusOK, MaxBodyBytes: logoutMost,
	}, func(ctx context.Context, in *struct {
		RawBody []byte `contentType:"application/x-www-form-urlencoded" doc:"logout_token=TOKEN"`
	}) (*struct {
		CacheControl string `header:"Cache-Control"`
	}, error) {
		form, err := url.ParseQuery(string(in.RawBody))
		if err != nil || form.Get("logout_token") == "" {
			return nil, problem.BadRequest("logout_token", "is missing", "a form with the field logout_token, as identity providers send it")
		}
		if p := s.overAtProvider(ctx, form.Get("logout_token")); p != nil {
			return nil, p
		}
		return &struct {
			CacheControl string `header:"Cache-Control"`
		}{"no-store"}, nil
	})
}

// overAtProvider ends the sessions that a logout token is about.
func (s *Guard) overAtProvider(ctx context.Context, token string) *api.Problem {
	if p := s.mayBegin(ctx); p != nil {
		return p
	}
	sub, provider := subjectOf(ctx), s.provider()
	done, p := s.sso.asking(ctx)
	if p != nil {
		return p
	}
	over, err := provider.LoggedOut(ctx, token)
	done()
	if err != nil {
		var e *signin.Error
		if !errors.As(err, &e) || e.Down {
			return refusedSignIn(s, err)
		}
		s.failed(ctx, sub, e.Message)
		return problem.New(http.StatusBadRequest, "invalid", e.Message, "an administrator looks at the client's back-channel logout at the identity provider")
	}
	for _, t := range s.sessionsOf(over, provider.Issuer()) {
		o := sub.origin
		o.Actor, o.Verb, o.Object = "provider:"+provider.Issuer(), "sign-out", t.User
		if err := s.rules.End(draft.WithOrigin(ctx, &o), t.ID); err != nil {
			if was := problem.Of(s.log, err); was.Status != http.StatusNotFound { // it has ended meanwhile
				return was
			}
		}
	}
	return nil
}

// sessionsOf are the sessions that began by one that is over at the provider. Of those
// whose session there is not known all of the account end.
func (s *Guard) sessionsOf(over signin.Logout, issuer string) (out []core.Token) {
	rights := s.rules.Rights()
	user := ""
	if u, ok := rights.Account(issuer, over.Subject); ok {
		user = u.Name
	}
	for _, t := range rights.Tokens() {
		mine := over.Subject == "" || t.User == user
		which := over.Session == "" || t.Session == over.Session || t.Session == "" && over.Subject != ""
		if t.Provider == issuer && mine && which && !t.CreatedAt.After(over.At) {
			out = append(out, t)
		}
	}
	return out
}
