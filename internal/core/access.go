package core

import "time"

// SubjectKind says what a subject of access rules is.
type SubjectKind string

// The kinds of subjects.
const (
	SubjectUser           SubjectKind = "user"
	SubjectServiceAccount SubjectKind = "service-account"
	SubjectGroup          SubjectKind = "group"
)

// SubjectKinds are all of them.
func SubjectKinds() []SubjectKind {
	return []SubjectKind{SubjectUser, SubjectServiceAccount, SubjectGroup}
}

// Subject is whom an access rule gives a role: a user, a service account, or all
// who are in a group.
type Subject struct {
	Kind SubjectKind `json:"kind"`
	Name string      `json:"name"`
}

// String is s as it is written.
func (s Subject) String() string { return string(s.Kind) + ":" + s.Name }

// User is a person or a service account: no two have the same name.
type User struct {
	Name      string      `json:"name"`
	Kind      SubjectKind `json:"kind"` // user or service-account
	Groups    []string    `json:"groups,omitempty"`
	Disabled  bool        `json:"disabled,omitempty"` // is let in by no way
	Note      string      `json:"note,omitempty"`
	CreatedAt time.Time   `json:"createdAt,omitzero"`
	CreatedBy string      `json:"createdBy,omitempty"`
	// Account is theirs at an identity provider; nil: they do not sign in by one.
	Account *Account `json:"account,omitempty"`
	// OSUser is the account of the server's machine that their tasks run as, where tasks
	// run as who submits them and they do not come by its own socket; empty: none.
	OSUser string `json:"osUser,omitempty"`
}

// Account is what a user is at an identity provider. One without a subject waits for
// the first whom the provider calls by the user's name.
type Account struct {
	Provider string    `json:"provider,omitempty"` // its issuer
	Subject  string    `json:"subject,omitempty"`  // what it calls the account, for ever
	Groups   []string  `json:"groups,omitempty"`   // as of the last sign-in, beside those that the user is in here
	SeenAt   time.Time `json:"seenAt,omitzero"`    // of the last sign-in
}

// Profile is what an identity provider says of somebody who has just signed in there.
type Profile struct {
	Provider string // its issuer
	Subject  string // what it calls the account, for ever; names may change
	Name     string
	Groups   []string
	Session  string // what it calls the session there, by which it says that this is over; empty: it has not said
}

// Subject is u as access rules name it.
func (u *User) Subject() Subject { return Subject{u.Kind, u.Name} }

// Permission allows a verb on a noun. With Own it is about what is the subject's
// own: the workloads that it submitted, its tokens.
type Permission struct {
	Verb string `json:"verb"`
	Noun string `json:"noun"`
	Own  bool   `json:"own,omitempty"`
}

// String is p as it is written: verb:noun, or verb:noun:own.
func (p Permission) String() string {
	if p.Own {
		return p.Verb + ":" + p.Noun + ":own"
	}
	return p.Verb + ":" + p.Noun
}

// Role is a set of permissions under a name. Who has it and may create access
// rules gives others the roles in Assigns, beside those that allow nothing that
// they may not do themselves.
type Role struct {
	Name        string       `json:"name"`
	Description string       `json:"description,omitempty"`
	Permissions []Permission `json:"permissions,omitempty"`
	Assigns     []string     `json:"assigns,omitempty"`
	CreatedAt   time.Time    `json:"createdAt,omitzero"` // zero: it is predefined
	CreatedBy   string       `json:"createdBy,omitempty"`
}

// AccessRule gives a subject a role in a scope: a project, a department and all
// below it, or the system (SystemScope) and everything. Rules are never changed.
type AccessRule struct {
	ID        string    `json:"id"`
	Subject   Subject   `json:"subject"`
	Role      string    `json:"role"`
	Scope     ProjectID `json:"scope"`
	CreatedAt time.Time `json:"createdAt,omitzero"`
	CreatedBy string    `json:"createdBy,omitempty"`
}

// Token lets somebody in who has no other way. Of its text only the hash is kept.
type Token struct {
	ID          string       `json:"id"`
	User        string       `json:"user"` // or service account
	Note        string       `json:"note,omitempty"`
	Hash        string       `json:"hash"`                  // SHA-256 of the text, in hexadecimal
	Permissions []Permission `json:"permissions,omitempty"` // what it allows at most; none: all that its user may do
	Scope       ProjectID    `json:"scope,omitempty"`       // where; empty: wherever its user may
	CreatedAt   time.Time    `json:"createdAt,omitzero"`
	CreatedBy   string       `json:"createdBy,omitempty"`
	ExpiresAt   time.Time    `json:"expiresAt,omitzero"` // zero: never
	UsedAt      time.Time    `json:"usedAt,omitzero"`    // lately; zero: never
	// Provider is by whom its user signed in to be given it: the token is a session,
	// of a browser or of the command line. Empty: it was made.
	Provider string `json:"provider,omitempty"`
	Session  string `json:"session,omitempty"` // what the provider calls the session that it was given in
	Browser  bool   `json:"browser,omitempty"` // its text was given to nobody
}

// Limited reports whether a token allows less than all that its user may do.
func (t *Token) Limited() bool {
	return len(t.Permissions) > 0 || t.Scope != "" && t.Scope != SystemScope
}

// AccessControl says whether rules decide who may do what, and whether what is done is
// written to the audit log.
type AccessControl struct {
	Enabled bool `json:"enabled"`
	// Audit has the audit log written while rules decide nothing, too.
	Audit     bool      `json:"audit,omitempty"`
	ChangedAt time.Time `json:"changedAt,omitzero"`
	ChangedBy string    `json:"changedBy,omitempty"`
}

// Audited reports whether what is done is written to the audit log.
func (c AccessControl) Audited() bool { return c.Enabled || c.Audit }

// Access is everything that is kept about who may do what.
type Access struct {
	Control AccessControl
	Users   []User       // by Name
	Roles   []Role       // custom ones, by Name
	Rules   []AccessRule // by ID
	Tokens  []Token      // by ID
}

// AccessChange is what changes of an Access. Drops go before what is put.
type AccessChange struct {
	Control    *AccessControl // nil: it stays
	DropUsers  []string
	Users      []User // new, or changed
	DropRoles  []string
	Roles      []Role // new, or changed
	DropRules  []string
	Rules      []AccessRule // new
	DropTokens []string
	Tokens     []Token // new, or changed
}

// None reports whether c changes nothing.
func (c *AccessChange) None() bool {
	return c.Control == nil && len(c.DropUsers)+len(c.Users)+len(c.DropRoles)+len(c.Roles)+len(c.DropRules)+len(c.Rules)+len(c.DropTokens)+len(c.Tokens) == 0
}

// AuditResult is how what was asked for ended.
type AuditResult string

// The results.
const (
	AuditDone    AuditResult = "done"
	AuditRefused AuditResult = "refused" // for lack of a permission, or of an identity
)

// AuditEntry is one line of the audit log: who did what, or was kept from it. Its
// hash covers all other fields and with Previous the entry before, so that none
// can be changed or taken out without another being found wrong.
type AuditEntry struct {
	Seq      int64         `json:"seq"` // from 1, without gaps
	At       time.Time     `json:"at"`
	Actor    string        `json:"actor"`             // user:NAME, or anonymous
	Token    string        `json:"token,omitempty"`   // id of the token that was shown
	Address  string        `json:"address,omitempty"` // where the request came from
	Action   string        `json:"action"`            // the operation of the API
	Verb     string        `json:"verb,omitempty"`
	Noun     string        `json:"noun,omitempty"`
	Object   string        `json:"object,omitempty"` // what the request named
	Result   AuditResult   `json:"result"`
	Message  string        `json:"message,omitempty"` // of a refusal
	Changes  []AuditChange `json:"changes,omitempty"`
	Previous string        `json:"previous"` // hash of the entry before; empty: there is none
	Hash     string        `json:"hash,omitempty"`
}

// AuditChange is one thing before and after an action, without secrets, in JSON;
// empty where it was not there.
type AuditChange struct {
	Object string `json:"object"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}
