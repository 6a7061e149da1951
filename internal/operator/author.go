package operator

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/operator/admission"
)

// errNobody says that nobody knows who has made an object.
var errNobody = errors.New("who has made this object is not known, as the cluster did not ask this server when it was written: delete it and apply it again")

// author is a client with the rights of who has made an object, or has changed it last;
// done is called when it is not needed any more. Where people are not told apart it is the
// server's own.
func (s *session) author(u *unstructured.Unstructured) (c *client.Client, done func(), err error) {
	if s.c.As == nil {
		return s.c.Muster, func() {}, nil
	}
	name := u.GetAnnotations()[admission.NoteAuthor]
	if name == "" {
		return nil, nil, errNobody
	}
	c, _, err = s.c.As(name)
	if err != nil {
		return nil, nil, err
	}
	return c, c.Close, nil
}
