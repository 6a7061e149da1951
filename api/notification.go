package api

// Receiver is where a notification goes: one of webhook, slack and email.
type Receiver struct {
	Webhook string `json:"webhook,omitempty" doc:"URL to which a CloudEvent is posted"`
	Secret  string `json:"secret,omitempty" doc:"Secret of type env or mounted with the key that signs the webhook"`
	Slack   string `json:"slack,omitempty" doc:"URL of Slack's incoming webhook, or the name of a secret that holds it"`
	Email   string `json:"email,omitempty" doc:"Address"`
}

// NewNotification asks that its user be told of the user's own workloads, or of
// everyone's in a project.
type NewNotification struct {
	Name string   `json:"name" doc:"A word for it, unique among the user's"`
	On   []string `json:"on,omitempty" doc:"Statuses: phases, words of other platforms such as mcli:COMPLETED, DeadlineNear, DeadlineAtRisk and DeadlineMissed; by default every end and these three"`
	Receiver
	Project string            `json:"project,omitempty" doc:"Of the workloads; by default any"`
	Labels  map[string]string `json:"labels,omitempty" doc:"That the workloads must have"`
	// Everyone asks to be told of other users' workloads too.
	Everyone bool `json:"everyone,omitempty" doc:"Of every user's workloads in project, or in those of that department"`
}

// Notification is one that there is.
type Notification struct {
	NewNotification
	CreatedAt Time `json:"createdAt"`
}

// NotificationList is every notification of a user.
type NotificationList struct {
	Items []Notification `json:"items" nullable:"false"`
	Next  string         `json:"next"`
}

// NotificationTest says to whom a test goes: to a receiver, or to that of a
// notification.
type NotificationTest struct {
	Name string `json:"name,omitempty" doc:"Of a notification; instead of a receiver"`
	Receiver
}

// Redelivery names a delivery to try again.
type Redelivery struct {
	ID string `json:"id"`
}

// Delivery is one happening on its way to one receiver.
type Delivery struct {
	ID   string `json:"id" doc:"The same for every try; webhooks have it in webhook-id"`
	User string `json:"user"`
	Receiver
	On       string `json:"on" doc:"The status that was asked for, in the words of who asked; test"`
	Workload string `json:"workload,omitempty" doc:"Its id; absent of a test"`
	Name     string `json:"name,omitempty" doc:"Of the workload"`
	Project  string `json:"project,omitempty"`
	Phase    string `json:"phase,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Message  string `json:"message,omitempty"`
	At       Time   `json:"at" doc:"When it happened"`
	State    string `json:"state" enum:"waiting,delivered,failed"`
	Tries    int    `json:"tries"`
	NextAt   *Time  `json:"nextAt,omitempty" doc:"When it is tried next"`
	LastAt   *Time  `json:"lastAt,omitempty" doc:"When it was tried last"`
	Problem  string `json:"problem,omitempty" doc:"What went wrong with the last try"`
}

// DeliveryList is a user's deliveries, the newest first.
type DeliveryList struct {
	Items []Delivery `json:"items" nullable:"false"`
	Next  string     `json:"next"`
}
