package cli

import "github.com/musterhq/muster/client"

// projectNoun is what projects and departments differ in.
type projectNoun struct {
	word    string
	arg     string // in usage lines
	aliases []string
	records client.Records
	about   string
}

var (
	projectWord    = projectNoun{"project", "PROJECT", []string{"projects", "queue"}, client.Projects, "Projects, which are queues of workloads"}
	departmentWord = projectNoun{"department", "DEPARTMENT", []string{"departments"}, client.Departments, "Departments, which hold projects and departments"}
)
