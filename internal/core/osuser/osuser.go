// Package osuser decides as whom of the operating system a task runs, on a server
// whose tasks run as who submitted them.
//
// It is given who submitted, as the kernel or an administrator's mapping said it, and
// a way to look accounts up; it gives the account, or the reason why there is none.
// Nothing else decides this, and nothing runs without its answer.
package osuser

import (
	"errors"
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
)

// Itself, as Rule.Root, lets root's tasks be root's.
const Itself = "root"

// Rule is how a server runs tasks as who submitted them.
type Rule struct {
	// Root is the account that tasks of root run as: never one of uid 0, unless it is
	// Itself.
	Root string
	// SetUID lets set-uid programs (sudo, ping, fusermount) gain rights in tasks.
	SetUID bool
}

// Account is an account of the operating system, with what its processes get.
type Account struct {
	Name   string   `json:"name"`
	UID    uint32   `json:"uid"`
	GID    uint32   `json:"gid"`
	Groups []uint32 `json:"groups,omitempty"` // further ones
	Home   string   `json:"home,omitempty"`
	Shell  string   `json:"shell,omitempty"`
	// Limits are those of resources that its processes begin with, where there are any.
	Limits []Limit `json:"limits,omitempty"`
	// SetUID says that set-uid programs may gain rights.
	SetUID bool `json:"setuid,omitempty"`
}

// Accounts looks accounts up. Both fail with ErrNone where there is none.
type Accounts interface {
	ByUID(uid uint32) (Account, error)
	ByName(name string) (Account, error)
}

// ErrNone is that an account does not exist.
var ErrNone = errors.New("there is no such account on this machine")

// Refusal is why a task runs as nobody. It is the same whenever it is asked again, until
// somebody changes what it names.
type Refusal struct{ text string }

func (r *Refusal) Error() string { return r.text }

func refuse(format string, args ...any) error { return &Refusal{fmt.Sprintf(format, args...)} }

// Unmapped is what is said to who has no account here.
const Unmapped = "tasks of this server run as accounts of this machine, and who submitted this has none: the server's owner gives them one with muster user update NAME --os-user ACCOUNT, or they submit on the machine itself"

// Wish is which ids a document asks for (runAs); nil: none.
type Wish struct{ UID, GID *uint32 }

// Decide says as whom a task runs that who has submitted. An error that is a *Refusal
// is final; others are failures to look something up.
func Decide(r Rule, who *core.OSUser, w Wish, all Accounts) (Account, error) {
	// 1. Whoever is not known to the machine runs nothing on it.
	if who == nil {
		return Account{}, refuse("%s", Unmapped)
	}
	a, err := all.ByUID(who.UID)
	switch {
	case errors.Is(err, ErrNone):
		return Account{}, refuse("user %d of this machine, who submitted this, has no account any more (getent passwd %d); submit it again as somebody who has", who.UID, who.UID)
	case err != nil:
		return Account{}, err
	case who.Name != "" && a.Name != who.Name:
		return Account{}, refuse("user %d was %s when this was submitted, and is %s now: the number has been given to somebody else; submit it again", who.UID, who.Name, a.Name)
	}
	// 2. Root is squashed, by whatever name it comes.
	if a.UID == 0 && r.Root != Itself {
		if a, err = all.ByName(r.Root); errors.Is(err, ErrNone) {
			return Account{}, refuse("tasks of root run as %q here (--root-tasks-as), which is no account of this machine; make it, or name another", r.Root)
		} else if err != nil {
			return Account{}, err
		}
		if a.UID == 0 {
			return Account{}, refuse("tasks of root run as %q here (--root-tasks-as), which is uid 0 by another name; name an account without rights", r.Root)
		}
	}
	// 3. A document may choose among what the account has, and nothing else.
	if w.UID != nil && *w.UID != a.UID {
		return Account{}, refuse("runAs.user: %d is not allowed: tasks of this server run as who submits them, here %s (%d); leave runAs.user out", *w.UID, a.Name, a.UID)
	}
	if g := w.GID; g != nil && *g != a.GID {
		if !slices.Contains(a.Groups, *g) {
			return Account{}, refuse("runAs.group: %d is not allowed: %s is not in that group; leave it out, or name one of %d %v", *g, a.Name, a.GID, a.Groups)
		}
		a.Groups = append(slices.Clone(a.Groups), a.GID)
		a.GID = *g
	}
	a.SetUID = r.SetUID
	return a, nil
}

// Same reports whether two submitters are one user of the machine.
func Same(a, b *core.OSUser) bool { return a != nil && b != nil && a.UID == b.UID }
