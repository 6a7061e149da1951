package api

// Reservation keeps nodes for some work, or for nobody, for a time that is told
// in advance.
type Reservation struct {
	Name      string `json:"name"`
	CreatedAt *Time  `json:"createdAt,omitempty"`
	ReservationSpec
	From     Time     `json:"from" doc:"When its present or next time begins; of one that is over, its last"`
	Until    Time     `json:"until" doc:"When that ends"`
	State    string   `json:"state" enum:"planned,active,over" doc:"planned: it has not begun; active: it has; over: it does not come again"`
	Keeps    []string `json:"keeps" nullable:"false" doc:"The nodes that it keeps"`
	GPU      int64    `json:"gpu" doc:"Thousandths of the devices that these have"`
	Using    []string `json:"using,omitempty" doc:"PROJECT/NAME of the live workloads that name it"`
	Warnings []string `json:"warnings,omitempty" doc:"In answers to changes: what is allowed and perhaps not meant, such as what runs on its nodes and is not over in time"`
}

// ReservationSpec is what can be decided about a reservation. Which nodes it
// keeps is said in one of three ways: nodes, selector, or pool with or without
// nodeCount or gpus.
type ReservationSpec struct {
	Start       string   `json:"start,omitempty" doc:"When it begins, like 2026-12-24T18:00:00Z"`
	Duration    string   `json:"duration,omitempty" doc:"For how long, like 2h"`
	Repeat      string   `json:"repeat,omitempty" enum:"daily,weekly," doc:"It comes again every 24 hours, or every 7 times that; empty: only once"`
	Nodes       []string `json:"nodes,omitempty" doc:"The nodes that it keeps, by name"`
	Selector    string   `json:"selector,omitempty" doc:"KEY=VALUE: all nodes that have this label"`
	Pool        string   `json:"pool,omitempty" doc:"All nodes of this pool, or as many as nodeCount or gpus say"`
	NodeCount   int      `json:"nodeCount,omitempty" minimum:"0" doc:"So many nodes of the pool; which they are is chosen when it is made"`
	GPUs        int      `json:"gpus,omitempty" minimum:"0" doc:"As many whole nodes of the pool as have so many GPUs"`
	Maintenance bool     `json:"maintenance,omitempty" doc:"It is for nobody: the nodes are worked on"`
	Projects    []string `json:"projects,omitempty" doc:"It is for work of these projects, or of projects below these departments"`
	Users       []string `json:"users,omitempty" doc:"It is for work of these users"`
	Magnetic    bool     `json:"magnetic,omitempty" doc:"Those for whom it is need not name it"`
	IgnoreJobs  bool     `json:"ignoreJobs,omitempty" doc:"What runs when it begins is left to its end, preemptible or not"`
	Note        string   `json:"note,omitempty" doc:"What it is for; shown to whoever waits"`
}

// NewReservation is a reservation to make.
type NewReservation struct {
	Name string `json:"name"`
	ReservationSpec
}

// ReservationList is every reservation.
type ReservationList struct {
	Items []Reservation `json:"items" nullable:"false"`
	Next  string        `json:"next"`
}
