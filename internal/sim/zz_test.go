package sim

import (
	"fmt"
	"testing"
	"context"

	"github.com/musterhq/muster/internal/core/spec"
)

func TestZZ(t *testing.T) {
	w, err := Random(*seed)
	fmt.Println(err)
	live, _ := w.memory.Live(context.Background())
	for _, e := range live {
		if e.Workload.Phase.End() { continue }
		fmt.Println(e.Workload.ID, e.Workload.Name, e.Workload.State)
		for _, t := range e.Tasks { fmt.Printf("   %+v\n", t) }
		fmt.Println(string(spec.YAML(e.Workload.Spec)))
	}
	for _, l := range w.links {
		ns, _ := l.plane.Inventory(context.Background())
		for _, n := range ns { fmt.Printf("%+v\n", n) }
	}
}
