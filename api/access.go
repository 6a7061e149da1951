package api

// AccessControl says whether access rules decide who may do what.
type AccessControl struct {
	Enabled   bool   `json:"enabled"`
	Audit     bool   `json:"audit" doc:"Whether what is done is written to the audit log: with access control it always is, and without where muster access audit on says so"`
	ChangedAt *Time  `json:"changedAt,omitempty"`
	ChangedBy string `json:"changedBy,omitempty"`
}

// AccessSwitch turns access control on or off.
type AccessSwitch struct {
	Enabled bool `json:"enabled"`
}

// AuditSwitch has the audit log written, or not, while access control is off.
type AuditSwitch struct {
	Enabled bool `json:"enabled"`
}

// User is a person or a service account.
type User struct {
	Name      string   `json:"name"`
	Kind      string   `json:"kind" enum:"user,service-account"`
	Groups    []string `json:"groups,omitempty"`
	Disabled  bool     `json:"disabled,omitempty" doc:"Is let in by no way"`
	Note      string   `json:"note,omitempty"`
	CreatedAt Time     `json:"createdAt"`
	CreatedBy string   `json:"createdBy,omitempty"`
	OSUser    string   `json:"osUser,omitempty" doc:"Account of the server's machine that their tasks run as, where tasks run as who submits them"`
	Account   *Account `json:"account,omitempty" doc:"Theirs at an identity provider; absent: they do not sign in by one"`
}

// Account is what a user is at an identity provider. One without a subject waits for
// the first whom the provider calls by the user's name.
type Account struct {
	Provider string   `json:"provider,omitempty" doc:"URL of the identity provider"`
	Subject  string   `json:"subject,omitempty" doc:"What it calls the account"`
	Groups   []string `json:"groups,omitempty" doc:"That it said they are in when they signed in last"`
	SeenAt   *Time    `json:"seenAt,omitempty" doc:"When they signed in last"`
}

// NewUser is a user or service account to be made.
type NewUser struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups,omitempty"`
	Note   string   `json:"note,omitempty"`
	OSUser string   `json:"osUser,omitempty" doc:"Account of the server's machine that their tasks run as; only the server's owner says so"`
	SSO    bool     `json:"sso,omitempty" doc:"The first whom the identity provider calls by this name is let in as this user"`
}

// UserChange changes a user or service account; what is left out stays.
type UserChange struct {
	Groups   *[]string `json:"groups,omitempty"`
	Disabled *bool     `json:"disabled,omitempty"`
	Note     *string   `json:"note,omitempty"`
	OSUser   *string   `json:"osUser,omitempty" doc:"Account of the server's machine that their tasks run as; '': none. Only the server's owner says so"`
	SSO      *bool     `json:"sso,omitempty" doc:"true: the next whom the identity provider calls by this name is let in as this user, and no account that was before; false: nobody is. Sessions end"`
}

// UserList is every user, or every service account, by name.
type UserList struct {
	Items []User `json:"items" nullable:"false"`
}

// Role is a set of permissions under a name.
type Role struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Permissions []string `json:"permissions" nullable:"false" doc:"VERB:NOUN, or VERB:NOUN:own for what is the subject's own; * stands for all"`
	Assigns     []string `json:"assigns,omitempty" doc:"Roles that who has this one, and may create access rules, may give beside those that allow nothing more than they may do"`
	Predefined  bool     `json:"predefined,omitempty"`
	CreatedAt   *Time    `json:"createdAt,omitempty"`
	CreatedBy   string   `json:"createdBy,omitempty"`
}

// NewRole is a custom role to be made.
type NewRole struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Permissions []string `json:"permissions" nullable:"false" doc:"VERB:NOUN or VERB:NOUN:own"`
	Assigns     []string `json:"assigns,omitempty"`
}

// RoleList is every role: the predefined ones, then custom ones by name.
type RoleList struct {
	Items []Role `json:"items" nullable:"false"`
}

// AccessRule gives a subject a role in a scope and everything below it.
type AccessRule struct {
	ID        string `json:"id"`
	Subject   string `json:"subject" doc:"KIND:NAME, of the kinds user, service-account and group"`
	Role      string `json:"role"`
	Scope     string `json:"scope" doc:"Project or department; '-': the system"`
	CreatedAt Time   `json:"createdAt"`
	CreatedBy string `json:"createdBy,omitempty"`
}

// NewAccessRule is an access rule to be made.
type NewAccessRule struct {
	Subject string `json:"subject" doc:"KIND:NAME, of the kinds user, service-account and group"`
	Role    string `json:"role"`
	Scope   string `json:"scope" doc:"Project or department; '-': the system"`
}

// AccessRuleList is the access rules that one may see.
type AccessRuleList struct {
	Items []AccessRule `json:"items" nullable:"false"`
}

// Token lets a user or service account in. Its text is shown once, when it is made.
type Token struct {
	ID          string   `json:"id"`
	User        string   `json:"user" doc:"Or service account"`
	Note        string   `json:"note,omitempty"`
	Permissions []string `json:"permissions,omitempty" doc:"What it allows at most; absent: all that its user may do"`
	Scope       string   `json:"scope,omitempty" doc:"Project or department in which it is good; absent: everywhere"`
	CreatedAt   Time     `json:"createdAt"`
	CreatedBy   string   `json:"createdBy,omitempty"`
	ExpiresAt   *Time    `json:"expiresAt,omitempty" doc:"Absent: never"`
	UsedAt      *Time    `json:"usedAt,omitempty" doc:"When it was shown last, to within five minutes"`
	Expired     bool     `json:"expired,omitempty"`
	Provider    string   `json:"provider,omitempty" doc:"URL of the identity provider by which its user signed in: the token is a session. Absent: it was made"`
	Browser     bool     `json:"browser,omitempty" doc:"The session is a browser's"`
}

// NewToken is a token to be made.
type NewToken struct {
	User        string   `json:"user,omitempty" doc:"Or service account; absent: whoever asks"`
	Note        string   `json:"note,omitempty"`
	Permissions []string `json:"permissions,omitempty" doc:"VERB:NOUN or VERB:NOUN:own: what it allows at most"`
	Scope       string   `json:"scope,omitempty" doc:"Project or department in which it is good"`
	Lifetime    string   `json:"lifetime,omitempty" doc:"Like 12h or 30d; 0s: until it is revoked; absent: 30d"`
}

// MadeToken is a token that was just made.
type MadeToken struct {
	Token
	Text string `json:"text" doc:"What is sent as Authorization: Bearer; it cannot be read again"`
}

// TokenList is the tokens that one may see.
type TokenList struct {
	Items []Token `json:"items" nullable:"false"`
}

// Identity is who asks, as the server knows them.
type Identity struct {
	User          string       `json:"user"`
	Kind          string       `json:"kind" enum:"user,service-account"`
	By            string       `json:"by" enum:"socket,token,browser" doc:"How they came in"`
	AccessControl bool         `json:"accessControl" doc:"Whether rules decide what they may do"`
	Owner         bool         `json:"owner,omitempty" doc:"The server is theirs: they may do everything"`
	Groups        []string     `json:"groups,omitempty"`
	Token         string       `json:"token,omitempty" doc:"Id of the token that was shown"`
	Permissions   []string     `json:"permissions,omitempty" doc:"What that token allows at most"`
	Scope         string       `json:"scope,omitempty" doc:"Where that token is good"`
	Provider      string       `json:"provider,omitempty" doc:"URL of the identity provider by which they signed in"`
	ExpiresAt     *Time        `json:"expiresAt,omitempty" doc:"Until when the token is good"`
	Rules         []AccessRule `json:"rules" nullable:"false" doc:"By which they have roles"`
}

// Decision is whether somebody may do something, and why.
type Decision struct {
	Allowed bool        `json:"allowed"`
	User    string      `json:"user"`
	Verb    string      `json:"verb"`
	Noun    string      `json:"noun"`
	Scope   string      `json:"scope"`
	Own     bool        `json:"own,omitempty" doc:"Asked of what is their own"`
	OnlyOwn bool        `json:"onlyOwn,omitempty" doc:"Not of anybody's, but of their own it is allowed"`
	Because *AccessRule `json:"because,omitempty" doc:"The access rule by which it is allowed"`
	Message string      `json:"message"`
	Hint    string      `json:"hint,omitempty"`
}

// AuditEntry is one line of the audit log.
type AuditEntry struct {
	Seq      int64         `json:"seq" doc:"Number of the entry, from 1"`
	At       Time          `json:"at"`
	Actor    string        `json:"actor" doc:"user:NAME, or anonymous"`
	Token    string        `json:"token,omitempty" doc:"Id of the token that was shown"`
	Address  string        `json:"address,omitempty" doc:"Where the request came from; socket: from this machine"`
	Action   string        `json:"action" doc:"The route of the API"`
	Verb     string        `json:"verb,omitempty"`
	Noun     string        `json:"noun,omitempty"`
	Object   string        `json:"object,omitempty" doc:"What the request named"`
	Result   string        `json:"result" enum:"done,refused"`
	Message  string        `json:"message,omitempty"`
	Changes  []AuditChange `json:"changes,omitempty" doc:"What was changed; without secrets"`
	Previous string        `json:"previous" doc:"Hash of the entry before"`
	Hash     string        `json:"hash" doc:"SHA-256 over everything else"`
}

// AuditChange is one thing before and after an action.
type AuditChange struct {
	Object string `json:"object"`
	Before string `json:"before,omitempty" doc:"As JSON; absent: it was not there"`
	After  string `json:"after,omitempty" doc:"As JSON; absent: it is gone"`
}

// AuditList is a page of the audit log, the newest first.
type AuditList struct {
	Items []AuditEntry `json:"items" nullable:"false"`
	Next  string       `json:"next,omitempty" doc:"Cursor of the next page"`
}

// AuditVerification is whether the audit log is as it was written.
type AuditVerification struct {
	Intact  bool         `json:"intact"`
	Entries int64        `json:"entries" doc:"Number of entries that were looked at, and are as they were written"`
	Head    string       `json:"head" doc:"Hash of the last of these; kept elsewhere it proves more than the database alone can"`
	Broken  *BrokenEntry `json:"broken,omitempty" doc:"The first that is not"`
}

// BrokenEntry is an entry of the audit log that is not as it was written.
type BrokenEntry struct {
	Seq     int64  `json:"seq" doc:"Number of the entry"`
	Problem string `json:"problem"`
}
