package outward

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core/address"
	"github.com/musterhq/muster/internal/oci"
	"github.com/musterhq/muster/internal/testing/ocitest"
)

// TestRegistries: of a registry that is allowed the realm, where it has its tokens, is
// judged too, and a refusal says so instead of "unreachable".
func TestRegistries(t *testing.T) {
	r := ocitest.New(t, ocitest.Bearer("joe", "s3cr3t"))
	pull := func(g *Guard, ref string) error {
		_, err := oci.NewClient(oci.Options{Carry: g.Transport}).PullArtifact(t.Context(), ref, t.TempDir(), oci.PullOptions{})
		return err
	}
	if err := pull(guard(t, true), r.Ref("m:v1")); oci.KindOf(err) != oci.Denied || !strings.Contains(err.Error(), string(address.Machine)) {
		t.Errorf("a registry on the server's machine: %v", err)
	}
	if err := pull(guard(t, true, "loopback"), r.Ref("m:v1")); strings.Contains(err.Error(), string(address.Machine)) {
		t.Errorf("one that is allowed: %v", err)
	}
	if err := pull(guard(t, false), "169.254.169.254/m:v1"); oci.KindOf(err) != oci.Denied || !strings.Contains(err.Error(), string(address.LinkLocal)) {
		t.Errorf("where clouds tell their machines: %v", err)
	}
}
