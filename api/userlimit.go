package api

// UserBoundSpec is what is decided of how much a user may have over all projects.
type UserBoundSpec struct {
	UserLimit
	Note string `json:"note,omitempty" maxLength:"500" doc:"What it is for"`
}

// UserBound is what a user may have at once in all projects together.
type UserBound struct {
	Name string `json:"name" doc:"Of the user; * for each who has no limit of their own"`
	UserBoundSpec
	UsedGPU   float64 `json:"usedGpu" doc:"Devices that their work holds; 0 for *"`
	Running   int     `json:"running" doc:"Workloads that hold something; 0 for *"`
	Queued    int     `json:"queued" doc:"Workloads that have not started; 0 for *"`
	CreatedAt *Time   `json:"createdAt,omitempty"`
}

// UserBoundList is a list of them.
type UserBoundList struct {
	Items []UserBound `json:"items" nullable:"false"`
	Next  string      `json:"next"`
}
