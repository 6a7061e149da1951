package session

import "github.com/musterhq/muster/client"

// ProjectNoun is what projects and departments differ in.
type ProjectNoun struct {
	Word    string
	Arg     string // in usage lines
	Aliases []string
	Records client.Records
	About   string
}

var (
	ProjectWord    = ProjectNoun{"project", "PROJECT", []string{"projects", "queue"}, client.Projects, "Projects, which are queues of workloads"}
	DepartmentWord = ProjectNoun{"department", "DEPARTMENT", []string{"departments"}, client.Departments, "Departments, which hold projects and departments"}
)
