package core

import "time"

// UserBound is what a user may have at once in all projects together, beside what
// projects say of their users.
type UserBound struct {
	User string `json:"user"` // or AnyUser
	UserLimit
	Note      string    `json:"note,omitempty"` // what it is for
	CreatedAt time.Time `json:"createdAt"`
}

// AnyUser as the name of a UserBound stands for each user who has none of their own.
const AnyUser = "*"

// TemplateUserBound is the kind of the records that hold a UserBound each: they are
// kept like templates of the system, and are no assets.
const TemplateUserBound TemplateKind = "user-limit"
