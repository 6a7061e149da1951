// Package signin says what single sign-on is to a server: settings, and what an identity
// provider is asked. How one is spoken with is in packages below.
package signin

import (
	"context"
	"errors"
	"time"

	"github.com/musterhq/muster/internal/core"
)

// Provider proves who somebody is, by an account that they have there.
type Provider interface {
	// Name is what it is called on the sign-in page.
	Name() string
	// Issuer is what profiles name it by.
	Issuer() string
	// Begin is the address at which a browser signs in, to come back to the attempt's
	// redirect with a code.
	Begin(ctx context.Context, a Attempt) (address string, err error)
	// Finish asks whose the code is that came back.
	Finish(ctx context.Context, a Attempt, code string) (core.Profile, error)
	// Device begins a sign-in with a browser elsewhere; ErrNoDevice: the provider
	// offers none.
	Device(ctx context.Context) (Device, error)
	// Poll asks whether that sign-in is done; ErrPending, ErrSlowDown: not yet.
	Poll(ctx context.Context, code string) (core.Profile, error)
	// LoggedOut is whose session at the provider is over, as a token says that the
	// provider itself has signed and sent (OpenID Connect back-channel logout).
	LoggedOut(ctx context.Context, token string) (Logout, error)
	// SignOut is the address at which a browser ends its session at the provider;
	// empty: there is none.
	SignOut() string
}

// Directory proves who somebody is, by a password that they type here.
type Directory interface {
	// Name is what it is called on the sign-in page.
	Name() string
	// Check asks whether a password is that of a name.
	Check(ctx context.Context, name, password string) (core.Profile, error)
}

// Attempt is one sign-in by a browser. Its secrets are made by the server, and only the
// browser that began it can finish it.
type Attempt struct {
	Redirect string // URL that the provider sends the browser back to
	State    string
	Nonce    string
	Verifier string // of PKCE (RFC 7636)
}

// Device is a sign-in with a browser that may be elsewhere (RFC 8628).
type Device struct {
	Code      string // by which it is asked for
	UserCode  string // what the person enters
	Address   string // where
	Complete  string // where, with the code in it; empty: there is none
	ExpiresAt time.Time
	Interval  time.Duration // between questions
}

// Logout is what a provider says of a session that is over there.
type Logout struct {
	Subject string    // whose account it was; empty: the session alone is named
	Session string    // which session; empty: all of the account
	At      time.Time // when it was said: what began later goes on
}

// What an answer may be that is no answer yet.
var (
	ErrPending  = errors.New("the sign-in is not done yet")
	ErrSlowDown = errors.New("the provider wants to be asked less often")
	ErrNoDevice = errors.New("the identity provider offers no sign-in by a code (device authorization)")
)

// Error is why nobody is let in.
type Error struct {
	// Down is set where the provider could not be asked: it is nobody's fault who
	// signs in.
	Down          bool
	Message, Hint string
}

// Error is the message.
func (e *Error) Error() string { return e.Message }
