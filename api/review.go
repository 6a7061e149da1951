package api

import "encoding/json"

// ScopeCheckSpec is what a check of a scope asks before workloads are queued, or before
// what is reserved for them starts.
type ScopeCheckSpec struct {
	Description string   `json:"description,omitempty"`
	Type        string   `json:"type" enum:"approval,webhook,image" doc:"People approve, a program is asked, or people look at images before their first use"`
	Kinds       []string `json:"kinds,omitempty" doc:"Kinds of workloads that it is about; none: all"`
	MinGPUs     float64  `json:"minGpus,omitempty" minimum:"0" doc:"Only workloads that ask for so many GPUs in all, with fractions"`
	When        string   `json:"when,omitempty" enum:"queue,reservation" doc:"Before it is queued, or once its quota is reserved; by default queue"`
	Within      string   `json:"within,omitempty" doc:"How long there is to decide, like 24h; by default there is no end"`
	Expired     string   `json:"expired,omitempty" enum:"reject,again" doc:"What is done then: it counts as rejected (the default), or approvals are asked for anew"`

	URL        string `json:"url,omitempty" doc:"Where the question is posted, of type webhook"`
	Secret     string `json:"secret,omitempty" doc:"Secret of who sets the check, with the keys that sign questions (Standard Webhooks)"`
	CA         string `json:"ca,omitempty" doc:"Certificates in PEM by which the program is known, instead of the machine's"`
	Timeout    string `json:"timeout,omitempty" doc:"How long one question may take, like 5s; by default 10s"`
	Unanswered string `json:"unanswered,omitempty" enum:"open,closed" doc:"Where there is no answer: lets through after some tries, or asks on (the default)"`
	Tries      int    `json:"tries,omitempty" minimum:"0" maximum:"100" doc:"Questions in a row without an answer before it lets through; by default 3"`

	Approvals    int      `json:"approvals,omitempty" minimum:"0" maximum:"20" doc:"How many different people have to approve; by default 1"`
	Role         string   `json:"role,omitempty" doc:"Who has this role where the workload is may decide"`
	Users        []string `json:"users,omitempty" doc:"Who may decide, beside those with the role; with neither whoever may approve workloads there"`
	NotSubmitter bool     `json:"notSubmitter,omitempty" doc:"Not who has submitted it, nor another in their place"`

	Images   []string `json:"images,omitempty" doc:"Patterns of images that it is about, with * for any text; none: all"`
	Trusted  []string `json:"trusted,omitempty" doc:"Patterns of images that need no review"`
	Remember string   `json:"remember,omitempty" enum:"image,repository,digest" doc:"What an approval holds for: the image as it is named (the default), every image of its repository, or only what is named by digest"`
}

// NewScopeCheck is a check to make.
type NewScopeCheck struct {
	Name string `json:"name"`
	ScopeCheckSpec
}

// ScopeCheck is a check of a project, a department or the system.
type ScopeCheck struct {
	Scope string `json:"scope" doc:"Project or department; '-': the system"`
	NewScopeCheck
	SecretOf  string `json:"secretOf,omitempty" doc:"Whose secret signs questions"`
	User      string `json:"user" doc:"Who made it"`
	Version   int    `json:"version" doc:"From 1"`
	CreatedAt Time   `json:"createdAt"`
	UpdatedAt Time   `json:"updatedAt"`
	Unread    string `json:"unread,omitempty" doc:"Why what it asks cannot be read; until it is set anew whoever may approve is asked"`
}

// ScopeCheckList is several checks.
type ScopeCheckList struct {
	Items []ScopeCheck `json:"items" nullable:"false"`
}

// CheckTest is a workload to try a check with.
type CheckTest struct {
	Document json.RawMessage `json:"document,omitempty" doc:"Document of the workload; by default one that does nothing"`
}

// CheckTrial is what a check would do.
type CheckTrial struct {
	Applies bool `json:"applies" doc:"It is about this workload at all"`
	// Of a program:
	Decision string  `json:"decision,omitempty" enum:"approve,reject,wait,retry" doc:"What the program has answered"`
	Message  string  `json:"message,omitempty" doc:"What it says of it"`
	Problem  string  `json:"problem,omitempty" doc:"Why there was no answer"`
	Took     float64 `json:"tookSeconds,omitempty"`
	// Of people:
	Need   int      `json:"need,omitempty" doc:"How many have to approve"`
	Who    string   `json:"who,omitempty" doc:"Who may decide, in words"`
	Images []string `json:"images,omitempty" doc:"Those to be looked at"`
}

// ReviewedImage is an image that somebody has looked at for a check.
type ReviewedImage struct {
	Image string `json:"image" doc:"As it is remembered: with its tag, its digest, or its repository alone"`
	User  string `json:"user" doc:"Who approved it last"`
	At    Time   `json:"at"`
}

// ReviewedImageList is several of them.
type ReviewedImageList struct {
	Items []ReviewedImage `json:"items" nullable:"false"`
}

// Vote is one person's approval of a check.
type Vote struct {
	By      string `json:"by"`
	For     string `json:"for,omitempty" doc:"Who has had them decide"`
	Message string `json:"message,omitempty"`
	At      Time   `json:"at"`
}

// Approval is a check of a workload that waits for people.
type Approval struct {
	Workload string  `json:"workload" doc:"Its name"`
	ID       string  `json:"id"`
	Project  string  `json:"project"`
	Kind     string  `json:"kind"`
	User     string  `json:"user" doc:"Who submitted it"`
	GPUs     float64 `json:"gpus"`
	Since    Time    `json:"since"`
	Check    Check   `json:"check"`
	May      bool    `json:"may" doc:"Who asks may decide it"`
	Refusal  string  `json:"refusal,omitempty" doc:"Why they may not"`
	For      string  `json:"for,omitempty" doc:"In whose place they would decide"`
}

// ApprovalList is several of them.
type ApprovalList struct {
	Items []Approval `json:"items" nullable:"false"`
}

// NewDelegation has another decide checks in one's place.
type NewDelegation struct {
	To      string `json:"to" doc:"User who decides"`
	Scope   string `json:"scope" doc:"Project or department; '-': everywhere that one may"`
	Until   Time   `json:"until"`
	Comment string `json:"comment,omitempty"`
}

// Delegation is that somebody decides checks in another's place.
type Delegation struct {
	From string `json:"from"`
	NewDelegation
}

// DelegationList is several of them.
type DelegationList struct {
	Items []Delegation `json:"items" nullable:"false"`
}
