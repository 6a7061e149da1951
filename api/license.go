package api

// License is something that is counted for the whole site, with who holds it.
type License struct {
	Name      string `json:"name"`
	CreatedAt *Time  `json:"createdAt,omitempty"`
	LicenseSpec
	Used     int64      `json:"used" doc:"Held by workloads, from the placement of their first task to the end of their last"`
	Waiting  int64      `json:"waiting" doc:"That workloads in their queues ask for"`
	Holders  []Licensee `json:"holders" nullable:"false" doc:"Who holds it, the most first"`
	Warnings []string   `json:"warnings,omitempty" doc:"In answers to changes: what is allowed and perhaps not meant"`
}

// LicenseSpec is what can be decided about a license.
type LicenseSpec struct {
	Total int64  `json:"total" minimum:"0" maximum:"2147483647" doc:"How many workloads may hold together"`
	Note  string `json:"note,omitempty"`
}

// Licensee is a workload that holds some of a license.
type Licensee struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Project string `json:"project"`
	User    string `json:"user"`
	Count   int64  `json:"count"`
}

// NewLicense is a license to make.
type NewLicense struct {
	Name string `json:"name"`
	LicenseSpec
}

// LicenseList is every license.
type LicenseList struct {
	Items []License `json:"items" nullable:"false"`
	Next  string    `json:"next"`
}
