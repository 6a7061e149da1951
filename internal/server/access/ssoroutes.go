package access

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/wire"
)

const signInPath = "/v1/sign-in"

// signInRoutes are how one signs in by an identity provider.
func (s *Guard) signInRoutes(a huma.API) {
	tags := []string{"session"}
	s.backChannelRoute(a)
	huma.Register(a, huma.Operation{
		OperationID: "sign-in-ways", Method: http.MethodGet, Path: signInPath, Summary: "How one can sign in beside a token", Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*struct{ Body api.SignInWays }, error) {
		out := &struct{ Body api.SignInWays }{}
		if s.sso != nil && s.enforced() {
			if s.sso.Provider != nil {
				out.Body.Provider = s.sso.Provider.Name()
			}
			if s.sso.Directory != nil {
				out.Body.Directory = s.sso.Directory.Name()
			}
		}
		return out, nil
	})
	huma.Register(a, huma.Operation{
		OperationID: "sign-in", Method: http.MethodPost, Path: signInPath, Summary: "Begin to sign in at the identity provider, in a browser", Tags: tags, Middlewares: huma.Middlewares{keepRequest},
	}, func(ctx context.Context, in *struct{ Body api.NewSignIn }) (*struct{ Body api.StartedSignIn }, error) {
		p := s.mayBegin(ctx)
		if p != nil {
			return nil, p
		}
		r, ok := ctx.Value(requestKey{}).(*http.Request)
		if !ok {
			return nil, problem.Internal()
		}
		if wrong := redirects(r, in.Body.Redirect); wrong != "" {
			return nil, problem.BadRequest("redirect", strconv.Quote(in.Body.Redirect)+" "+wrong, "the page of this server over https, or http on an address of the browser's own machine")
		}
		done, p := s.sso.asking(ctx)
		if p != nil {
			return nil, p
		}
		defer done()
		begun, err := s.sso.begin(ctx, in.Body.Redirect)
		if err != nil {
			return nil, refusedSignIn(s, err)
		}
		return &struct{ Body api.StartedSignIn }{*begun}, nil
	})
	huma.Register(a, huma.Operation{
		OperationID: "sign-in-device", Method: http.MethodPost, Path: signInPath + "/device", Summary: "Begin to sign in at the identity provider, with a browser that may be elsewhere", Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*struct{ Body api.StartedDevice }, error) {
		if p := s.mayBegin(ctx); p != nil {
			return nil, p
		}
		from := subjectOf(ctx).origin.Address
		if wait := s.sso.begun.locked(from, s.clock()); wait > 0 {
			return nil, lockedOut(wait)
		}
		s.sso.begun.add(from, s.clock())
		done, p := s.sso.asking(ctx)
		if p != nil {
			return nil, p
		}
		defer done()
		d, err := s.sso.device(ctx)
		if err != nil {
			return nil, refusedSignIn(s, err)
		}
		return &struct{ Body api.StartedDevice }{*d}, nil
	})
	huma.Register(a, huma.Operation{
		OperationID: "sign-in-token", Method: http.MethodPost, Path: signInPath + "/token", Summary: "What the identity provider has answered, for a token that is good for a session", Tags: tags,
	}, func(ctx context.Context, in *struct{ Body api.SignInAnswer }) (*struct{ Body api.SignedIn }, error) {
		t, text, slower, p := s.enter(ctx, in.Body, false)
		if p != nil {
			return nil, p
		}
		return &struct{ Body api.SignedIn }{s.signedIn(t, text, slower)}, nil
	})
}

// slowDown is by how much longer a program waits that asks too often, in seconds
// (RFC 8628, 3.5).
const slowDown = 5

func (s *Guard) signedIn(t core.Token, text string, slower bool) api.SignedIn {
	if text == "" {
		out := api.SignedIn{Pending: true}
		if slower {
			out.IntervalSeconds = slowDown
		}
		return out
	}
	return api.SignedIn{Token: &api.MadeToken{Token: wire.Token(t, s.clock()), Text: text}}
}

// mayBegin refuses where nobody signs in by an identity provider, or whoever has failed
// too often.
func (s *Guard) mayBegin(ctx context.Context) *api.Problem {
	sub := subjectOf(ctx)
	if sub == nil || s.provider() == nil {
		return noSSO(sub != nil)
	}
	if wait := s.failures.locked(sub.origin.Address, s.clock()); wait > 0 {
		return lockedOut(wait)
	}
	return nil
}
