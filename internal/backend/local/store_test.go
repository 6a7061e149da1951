package local

import (
	"errors"
	"testing"

	"github.com/musterhq/muster/internal/core/address"
	"github.com/musterhq/muster/internal/oci"
)

// TestWhatIsLookedForAgain: an image that is not there may be pushed a moment later;
// that an address is not called is a rule of ours.
func TestWhatIsLookedForAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err   error
		again bool
	}{
		{&oci.Error{Kind: oci.NotFound}, true},
		{&oci.Error{Kind: oci.Denied}, true},
		{&oci.Error{Kind: oci.Denied, Err: &address.Refused{Host: "127.0.0.1", Sort: address.Machine}}, false},
		{&oci.Error{Kind: oci.WrongPlatform}, false},
	} {
		var r *retried
		if got := errors.As(asKubelet(c.err), &r); got != c.again {
			t.Errorf("%+v is looked for again: %v, want %v", c.err, got, c.again)
		}
	}
}
