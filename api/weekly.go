package api

// NewReportMail asks for the report of one week as mail.
type NewReportMail struct {
	Email    string `json:"email" minLength:"3" maxLength:"254" doc:"To whom"`
	Week     string `json:"week,omitempty" doc:"last, this, or one like 2026-W47; default: last"`
	TimeZone string `json:"timeZone,omitempty" doc:"In which weeks begin, like Europe/Berlin; default: that of the server"`
	Project  string `json:"project,omitempty" doc:"Only what is of this project, or of the projects of this department"`
	User     string `json:"user,omitempty" doc:"Only what is of this user"`
}

// ReportMail is a report that a mail server has taken.
type ReportMail struct {
	Email string `json:"email"`
	Week  string `json:"week"`
}

// NewWeeklyReport asks for the report of each week as mail, on Monday.
type NewWeeklyReport struct {
	Email    string `json:"email" minLength:"3" maxLength:"254" doc:"To whom"`
	TimeZone string `json:"timeZone,omitempty" doc:"In which weeks begin, like Europe/Berlin; default: that of the server"`
	Project  string `json:"project,omitempty" doc:"Only what is of this project, or of the projects of this department"`
	User     string `json:"user,omitempty" doc:"Only what is of this user"`
}

// WeeklyReport is that somebody has the report of each week mailed.
type WeeklyReport struct {
	ID       string `json:"id"`
	Email    string `json:"email"`
	By       string `json:"by" doc:"Who has it mailed: it shows what they may see when it goes out"`
	Project  string `json:"project,omitempty"`
	User     string `json:"user,omitempty"`
	TimeZone string `json:"timeZone,omitempty"`
	Created  Time   `json:"created"`
	Next     Time   `json:"next" doc:"When the next one goes out"`
	LastWeek string `json:"lastWeek,omitempty" doc:"The latest that a mail server has taken"`
	LastAt   *Time  `json:"lastAt,omitempty"`
	Problem  string `json:"problem,omitempty" doc:"Why the latest try failed"`
}

// WeeklyReportList is a list of them.
type WeeklyReportList struct {
	Items []WeeklyReport `json:"items" nullable:"false"`
}
