package server

import (
	"net/http"
	"strings"
)

// plainly turns what others refuse in plain text into a problem: the library of
// web sockets answers by itself a request whose handshake it does not like.
type plainly struct {
	http.ResponseWriter
	status int // of the refusal; 0: it is none
	hint   string
}

// Unwrap is for who takes over the connection.
func (p *plainly) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p *plainly) WriteHeader(status int) {
	if p.status = status; status < 400 {
		p.status = 0
		p.ResponseWriter.WriteHeader(status)
	}
}

func (p *plainly) Write(text []byte) (int, error) {
	if p.status == 0 {
		return p.ResponseWriter.Write(text)
	}
	writeProblem(p.ResponseWriter, newProblem(p.status, "invalid", strings.TrimSpace(string(text)), p.hint))
	return len(text), nil
}
