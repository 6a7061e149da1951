package oci

import (
	"context"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// uploads is how many blobs are sent at the same time.
const uploads = 4

// remoteOptions are what the library needs to write with a credential.
func (c *Client) remoteOptions(ctx context.Context, cred *Credential) []remote.Option {
	return []remote.Option{
		remote.WithContext(ctx), remote.WithAuth(authOf(cred)), remote.WithTransport(c.wire), remote.WithUserAgent(userAgent),
		remote.WithJobs(uploads),
		remote.WithRetryBackoff(remote.Backoff{Duration: 200 * time.Millisecond, Factor: 3, Jitter: 0.1, Steps: 4}),
	}
}

// target parses the name of what is to be written.
func target(ref string) (name.Tag, error) {
	parsed, err := parseRef(ref)
	if err != nil {
		return name.Tag{}, err
	}
	tag, ok := parsed.(name.Tag)
	if !ok {
		return name.Tag{}, badName("a digest follows from the content and cannot be chosen; name a tag, e.g. %s:latest", parsed.Context().Name())
	}
	return tag, nil
}

// writing tries the credentials that fit the target until one may write.
func (c *Client) writing(ctx context.Context, tag name.Tag, all []Credential, write func(*remote.Pusher) error) error {
	var tried []*Credential
	var refused *Error
	for _, cred := range matching(all, tag.Context()) {
		tried = append(tried, cred)
		pusher, err := remote.NewPusher(c.remoteOptions(ctx, cred)...)
		if err == nil {
			err = write(pusher)
		}
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if refused = classify(err); refused.Kind != Denied {
			return wordedForWriting(refused)
		}
	}
	return wordedForWriting(denied(refused, tag.Context().RegistryStr(), tried))
}

// wordedForWriting says what a failure means for somebody who writes.
func wordedForWriting(e *Error) *Error {
	out := *e
	switch e.Kind {
	case NotFound:
		out.Text = "the registry does not know this repository; create it there first, or check its name"
	case Denied:
		out.Text += "; writing needs a user with the right to push"
	case Stalled, Unreachable:
		out.Text += " (layers that are there already are not sent again)"
	}
	return &out
}
