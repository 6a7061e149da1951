//go:build linux

package local

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/musterhq/muster/internal/backend"
)

// serverArg makes the test binary a server that opens a backend, starts tasks
// and waits to be killed.
const serverArg = "__server"

// serverMain takes a directory, a workload, a number of tasks and their script.
func serverMain(args []string) int {
	p, err := Open(Options{Dir: args[0], Linger: 10 * time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	n, err := strconv.Atoi(args[2])
	if err != nil {
		fmt.Println(err)
		return 1
	}
	tasks := make([]backend.Assignment, n)
	for i := range tasks {
		tasks[i] = shellTask(args[1], i, args[3])
	}
	if err := p.Start(context.Background(), tasks); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("started")
	_, _ = os.Stdin.Read(make([]byte, 1)) // until the test has killed us
	return 0
}
