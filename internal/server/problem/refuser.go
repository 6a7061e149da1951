package problem

import (
	"net/http"
	"strings"
)

// Refuser turns what others refuse in plain text into a problem: the library of
// web sockets answers by itself a request whose handshake it does not like.
type Refuser struct {
	http.ResponseWriter
	status int // of the refusal; 0: it is none
	Hint   string
}

// Unwrap is for who takes over the connection.
func (p *Refuser) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (p *Refuser) WriteHeader(status int) {
	if p.status = status; status < 400 {
		p.status = 0
		p.ResponseWriter.WriteHeader(status)
	}
}

// Write implements http.ResponseWriter.
func (p *Refuser) Write(text []byte) (int, error) {
	if p.status == 0 {
		return p.ResponseWriter.Write(text)
	}
	Write(p.ResponseWriter, New(p.status, "invalid", strings.TrimSpace(string(text)), p.Hint))
	return len(text), nil
}
