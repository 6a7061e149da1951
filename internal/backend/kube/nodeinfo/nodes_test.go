package nodeinfo

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend/kube/dra"
	"github.com/musterhq/muster/internal/backend/kube/resources"
	"github.com/musterhq/muster/internal/core"
)

func TestNodesThatAreGoneAreForgotten(t *testing.T) {
	c := New("", nil)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	id := core.TaskID{Workload: "01a"}
	c.Seen(n)
	c.Hold("n", id, nil)
	c.Exceed("n", id, resources.Usage{Cpu: 1})
	c.Changes()
	c.Gone("n")
	if _, gone := c.Changes(); len(gone) != 1 || len(c.Sites) != 1 {
		t.Errorf("%v is gone, and %d sites are known, with a task on one", gone, len(c.Sites))
	}
	c.Release("n", id)
	c.Changes()
	if len(c.Sites)+len(c.announced)+len(c.changed) > 0 {
		t.Errorf("%v, %v, %v are kept", c.Sites, c.announced, c.changed)
	}
	c.Seen(n)
	if changed, _ := c.Changes(); len(changed) != 1 {
		t.Errorf("once it is back %v is told", changed)
	}
}

func TestASliceThatIsWrittenAgainLeavesNothingOfTheFormer(t *testing.T) {
	c := New("", nil)
	c.Seen(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	node := "n"
	suggestion := func(pool string) {
		c.SliceSeen(&resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: resourcev1.ResourceSliceSpec{
			Driver: dra.Driver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: pool}, Devices: []resourcev1.Device{{Name: "gpu-0"}},
		}})
	}
	suggestion("one")
	if n := c.List()[0]; !n.Whole {
		t.Error("GPUs that drivers offer can be had in parts")
	}
	suggestion("two")
	if len(c.claims.Owner) != 1 || c.claims.Owner[dra.Pool{Driver: dra.Driver, Name: "two"}] != "n" {
		t.Errorf("pools are of %v", c.claims.Owner)
	}
	c.SliceGone("s")
	if len(c.claims.Owner)+len(c.claims.Nodes)+len(c.claims.Slices) > 0 {
		t.Errorf("%+v is kept", c.claims)
	}
}
