package access

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/engine/draft"
)

const (
	// sessionsMost bounds the sessions of one user; the oldest makes room.
	sessionsMost = 20
	// profileGroupsMost bounds the groups that an identity provider may name for one
	// user: none is left out without a word, as somebody would lack what rules give.
	profileGroupsMost = 500
)

// SignIn is somebody whom an identity provider has just proven to be who they are.
type SignIn struct {
	core.Profile
	Hash    string        // of the token that is the session
	Browser bool          // its text is given to nobody
	Life    time.Duration // of the session
	Ends    string        // id of a session of the same user that this one takes the place of; empty: none
	// Reserved are names that nobody can be given: those of the server's owner.
	Reserved []string
	// Local reports whether a name is that of an account of the server's machine, who
	// comes by the socket.
	Local func(name string) bool
}

// Enter lets somebody in: as the user whose account it is, or as a new one, who may do
// nothing yet but what rules give their groups.
func Enter(r SignIn) draft.Command[core.Token] {
	return func(tx *draft.Tx) (core.Token, error) {
		var none core.Token
		rights := tx.Rights()
		if len(r.Groups) > profileGroupsMost {
			return none, forbidden(fmt.Sprintf("the identity provider says that %s is in %d groups, more than %d", r.Name, len(r.Groups), profileGroupsMost), "an administrator has the provider send only those that matter here, or sets groupPrefix in the settings of single sign-on")
		}
		u, err := r.user(tx, rights)
		if err != nil {
			return none, err
		}
		if u.Disabled {
			return none, forbidden(fmt.Sprintf("user %q is disabled", u.Name), "an administrator lets them in again with muster user enable "+u.Name)
		}
		if err := tx.Roomy(); err != nil {
			return none, err
		}
		u.Account = &core.Account{Provider: r.Provider, Subject: r.Subject, Groups: r.groups(), SeenAt: tx.Now}
		draft.Put(&tx.Access.Users, u.Name, &u)
		r.makeRoom(tx, rights, u.Name)
		t := core.Token{
			ID: string(tx.State.D.NewID(tx.Now)), User: u.Name, Hash: r.Hash, Provider: r.Provider, Session: r.Session, Browser: r.Browser,
			CreatedAt: tx.Now, CreatedBy: u.Name, ExpiresAt: tx.Now.Add(r.Life),
		}
		draft.Put(&tx.Access.Tokens, t.ID, &t)
		return t, nil
	}
}

// user is as whom somebody comes in. A name alone proves nothing: providers let people
// change theirs, and give a name again. Only the account that was first bound to a user
// is let in as them.
func (r *SignIn) user(tx *draft.Tx, rights *rbac.Policy) (core.User, error) {
	if u, ok := rights.Account(r.Provider, r.Subject); ok {
		return u, nil
	}
	if err := checkName("name", r.Name); err != nil {
		e := err.(*draft.Error)
		return core.User{}, forbidden("the identity provider calls them by what is no name of a user here: "+e.Message, "an administrator chooses another claim for names: nameClaim in the settings of single sign-on")
	}
	if slices.ContainsFunc(r.Reserved, func(name string) bool { return strings.EqualFold(name, r.Name) }) {
		return core.User{}, forbidden(fmt.Sprintf("%q is a name of the server's owner, who may do everything", r.Name), "they need another name at the identity provider, or an administrator chooses another claim for names")
	}
	for _, u := range rights.Users() {
		if !strings.EqualFold(u.Name, r.Name) {
			continue
		}
		switch {
		case u.Name == r.Name && u.Kind == core.SubjectUser && u.Account != nil && u.Account.Subject == "":
			return u, nil // an administrator has said that this name comes by the provider
		case u.Account == nil:
			return core.User{}, forbidden(fmt.Sprintf("there is %s %q, who does not sign in by an identity provider", kindWord(u.Kind), u.Name), fmt.Sprintf("where it is the same person, an administrator says so: muster user update %s --sso", u.Name))
		default:
			return core.User{}, forbidden(fmt.Sprintf("user %q is bound to another account of an identity provider", u.Name), fmt.Sprintf("where the new account is the same person's, an administrator says so: muster user update %s --sso", u.Name))
		}
	}
	if r.Local != nil && r.Local(r.Name) {
		return core.User{}, forbidden(fmt.Sprintf("%q is also an account of the server's machine, who comes by the socket under that name", r.Name), fmt.Sprintf("where it is the same person, an administrator says so: muster user create %s --sso", r.Name))
	}
	return core.User{Name: r.Name, Kind: core.SubjectUser, CreatedAt: tx.Now, CreatedBy: r.Provider}, nil
}

// groups are those of the profile that have a name which rules can give a role.
func (r *SignIn) groups() []string {
	var out []string
	for _, g := range r.Groups {
		if checkName("groups", g) == nil {
			out = append(out, g)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// makeRoom forgets the user's sessions that are over or that this one takes the place
// of, and the oldest where there are too many.
func (r *SignIn) makeRoom(tx *draft.Tx, rights *rbac.Policy, user string) {
	var open []core.Token
	for _, t := range rights.Tokens() {
		if t.User != user || t.Provider == "" {
			continue
		}
		if t.ID == r.Ends || !tx.Now.Before(t.ExpiresAt) {
			draft.Put(&tx.Access.Tokens, t.ID, nil)
		} else {
			open = append(open, t)
		}
	}
	slices.SortFunc(open, func(a, b core.Token) int { return a.CreatedAt.Compare(b.CreatedAt) })
	for len(open) >= sessionsMost {
		draft.Put(&tx.Access.Tokens, open[0].ID, nil)
		open = open[1:]
	}
}
