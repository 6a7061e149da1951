package oidc

import "testing"

// BenchmarkFinish is what the server does with the answer of a provider on this machine,
// that provider's own part (a token signed with RSA, over HTTP) among it.
func BenchmarkFinish(b *testing.B) {
	p := newForger(b).provider(b)
	for b.Loop() {
		if _, err := p.Finish(b.Context(), attempt(), "a code"); err != nil {
			b.Fatal(err)
		}
	}
}
