// Package oidctest is an identity provider for tests: a real one, of another house's
// library, on an address of this machine.
package oidctest

import (
	"context"
	"crypto/sha256"
	"errors"
	"html/template"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// The client that the provider knows.
const (
	ClientID = "muster"
	Secret   = "a secret of the client"
)

// User is somebody who has an account there.
type User struct {
	ID       string
	Name     string // which they may change
	Password string
	Email    string
	Verified bool
	Groups   []string
}

// Provider is a running identity provider.
type Provider struct {
	URL string // its issuer
	// Thin keeps claims of people out of ID tokens: they have to be asked for.
	Thin atomic.Bool

	server *http.Server
	store  *store
}

// Start starts a provider with users. It must be closed.
func Start(users ...User) (*Provider, error) {
	return StartAt("127.0.0.1:0", users...)
}

// StartAt is Start at an address.
func StartAt(address string, users ...User) (*Provider, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	p := &Provider{URL: "http://" + l.Addr().String() + "/"}
	people := &people{byID: map[string]User{}}
	for _, u := range users {
		people.byID[u.ID] = u
	}
	p.store = &store{provider: p, people: people}
	p.store.Storage = storage.NewStorageWithClients(people, map[string]*storage.Client{ClientID: storage.WebClient(ClientID, Secret, "http://127.0.0.1/")})
	opened, err := op.NewProvider(&op.Config{
		CryptoKey: sha256.Sum256([]byte(p.URL)), CryptoKeyId: "key", DefaultLogoutRedirectURI: "/signed-out", CodeMethodS256: true, AuthMethodPost: true, GrantTypeRefreshToken: true,
		DeviceAuthorization: op.DeviceAuthorizationConfig{Lifetime: 5 * time.Minute, PollInterval: time.Second, UserFormPath: "/device", UserCode: op.UserCodeBase20},
	}, p.store, op.StaticIssuer(p.URL), op.WithAllowInsecure())
	if err != nil {
		l.Close()
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/login/username", p.login(op.AuthCallbackURL(opened), op.NewIssuerInterceptor(opened.IssuerFromRequest)))
	mux.HandleFunc("/device", p.device)
	mux.HandleFunc("/signed-out", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("signed out")) })
	mux.Handle("/", opened)
	p.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go p.server.Serve(l) //nolint:errcheck // it ends with Close
	return p, nil
}

// Close ends it.
func (p *Provider) Close() { p.server.Close() }

// Set adds a user, or changes one.
func (p *Provider) Set(u User) {
	p.store.people.Lock()
	defer p.store.people.Unlock()
	p.store.people.byID[u.ID] = u
}

var page = template.Must(template.New("page").Parse(`<!doctype html><title>Test provider</title><form method="post"><input type="hidden" name="id" value="{{.ID}}"><input type="hidden" name="user_code" value="{{.Code}}">
<label>User <input name="username" id="username"></label><label>Password <input name="password" id="password" type="password"></label><p>{{.Error}}</p><button>Sign in</button></form>`))

type form struct{ ID, Code, Error string }

// login is the page on which one signs in, and what it sends.
func (p *Provider) login(back func(context.Context, string) string, issuer *op.IssuerInterceptor) http.HandlerFunc {
	return issuer.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f := form{ID: r.FormValue("authRequestID")}
		if r.Method == http.MethodPost {
			f.ID = r.FormValue("id")
			err := p.store.CheckUsernamePassword(r.FormValue("username"), r.FormValue("password"), f.ID)
			if err == nil {
				http.Redirect(w, r, back(r.Context(), f.ID), http.StatusFound)
				return
			}
			f.Error = err.Error()
		}
		_ = page.Execute(w, f)
	})
}

// device is the page on which one signs in for another machine.
func (p *Provider) device(w http.ResponseWriter, r *http.Request) {
	f := form{Code: r.FormValue("user_code")}
	if r.Method == http.MethodPost {
		u := p.store.people.GetUserByUsername(r.FormValue("username"))
		err := errors.New("username or password wrong")
		if u != nil && u.Password == r.FormValue("password") {
			err = p.store.CompleteDeviceAuthorization(r.Context(), f.Code, u.ID)
		}
		if err == nil {
			_, _ = w.Write([]byte("you are signed in"))
			return
		}
		f.Error = err.Error()
	}
	_ = page.Execute(w, f)
}

// people are the users, as the library's own store asks for them.
type people struct {
	sync.Mutex
	byID map[string]User
}

func account(u User) *storage.User {
	return &storage.User{ID: u.ID, Username: u.Name, Password: u.Password, Email: u.Email, EmailVerified: u.Verified}
}

// GetUserByID finds one by what the provider calls it for ever.
func (p *people) GetUserByID(id string) *storage.User {
	p.Lock()
	defer p.Unlock()
	if u, ok := p.byID[id]; ok {
		return account(u)
	}
	return nil
}

// GetUserByUsername finds one by the name that it signs in with.
func (p *people) GetUserByUsername(name string) *storage.User {
	p.Lock()
	defer p.Unlock()
	for _, u := range p.byID {
		if u.Name == name {
			return account(u)
		}
	}
	return nil
}

// ExampleClientID is asked for by the library's store.
func (p *people) ExampleClientID() string { return "nobody" }

func (p *people) groups(id string) []string {
	p.Lock()
	defer p.Unlock()
	return p.byID[id].Groups
}

// store is the library's own, with groups, and a client that may come back to any port
// of this machine.
type store struct {
	*storage.Storage
	provider *Provider
	people   *people
}

// GetClientByClientID finds the client.
func (s *store) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	c, err := s.Storage.GetClientByClientID(ctx, id)
	if err != nil {
		return nil, err
	}
	return &client{c, s.provider}, nil
}

// SetUserinfoFromRequest is what goes into an ID token.
func (s *store) SetUserinfoFromRequest(ctx context.Context, info *oidc.UserInfo, r op.IDTokenRequest, scopes []string) error {
	s.addGroups(info, r.GetSubject(), scopes)
	return s.Storage.SetUserinfoFromRequest(ctx, info, r, scopes)
}

// SetUserinfoFromToken is what the provider says when it is asked.
func (s *store) SetUserinfoFromToken(ctx context.Context, info *oidc.UserInfo, token, subject, origin string) error {
	s.addGroups(info, subject, []string{oidc.ScopeProfile})
	return s.Storage.SetUserinfoFromToken(ctx, info, token, subject, origin)
}

func (s *store) addGroups(info *oidc.UserInfo, id string, scopes []string) {
	if g := s.people.groups(id); g != nil && slices.Contains(scopes, oidc.ScopeProfile) {
		info.AppendClaims("groups", g)
	}
}

type client struct {
	op.Client
	provider *Provider
}

// RedirectURIGlobs are where a browser may be sent back to.
func (c *client) RedirectURIGlobs() []string {
	return []string{"http://127.0.0.1:*/**", "http://127.0.0.1:*/", "http://localhost:*/**"}
}

// PostLogoutRedirectURIGlobs are none.
func (c *client) PostLogoutRedirectURIGlobs() []string { return nil }

// GrantTypes are those of the library's client, and devices.
func (c *client) GrantTypes() []oidc.GrantType {
	return append(slices.Clone(c.Client.GrantTypes()), oidc.GrantTypeDeviceCode)
}

// IDTokenUserinfoClaimsAssertion reports whether ID tokens say who it is.
func (c *client) IDTokenUserinfoClaimsAssertion() bool { return !c.provider.Thin.Load() }

// LoginURL is the page of an attempt.
func (c *client) LoginURL(id string) string {
	return strings.TrimSuffix(c.provider.URL, "/") + "/login/username?authRequestID=" + id
}
