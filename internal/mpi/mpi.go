// Package mpi carries the commands of an MPI launcher to its workers, in the
// place of ssh: a worker runs the agent, mpirun runs the shell
// (plm_rsh_agent) for each worker that it starts a daemon on.
//
// A connection begins with a challenge: whoever asks proves with an HMAC that
// it has the token that all tasks of the attempt share, which never crosses
// the network.
package mpi

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// The variables that the control plane sets for both ends.
const (
	TokenFileVar = "MUSTER_MPI_TOKEN_FILE"
	ListenVar    = "MUSTER_MPI_LISTEN"  // of a worker: address:port
	WorkersVar   = "MUSTER_MPI_WORKERS" // of the launcher: name=address:port, separated by blanks
)

// The kinds of frames. After the request the shell sends stdin, the agent the
// rest; a frame is its kind, four bytes of length and so many bytes.
const (
	frameStdin  = 0
	frameStdout = 1
	frameStderr = 2
	frameEnd    = 3 // four bytes of exit code, or a text that says why there is none
	frameEOF    = 5 // stdin has ended
)

const (
	nonceSize  = 32
	requestMax = 1 << 20
	frameMax   = 1 << 16
)

// request is what the shell sends after the challenge.
type request struct {
	Command string `json:"command"` // for sh -c
	Proof   []byte `json:"proof"`
}

// proof shows that whoever made it has the token.
func proof(token, nonce []byte, command string) []byte {
	h := hmac.New(sha256.New, token)
	h.Write(nonce)
	h.Write([]byte(command))
	return h.Sum(nil)
}

func token() ([]byte, error) {
	path := os.Getenv(TokenFileVar)
	if path == "" {
		return nil, fmt.Errorf("%s is not set; this is run by mpi workloads of Muster, not by hand", TokenFileVar)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(data) < 16 {
		return nil, fmt.Errorf("%s: the token is too short", path)
	}
	return data, nil
}

func writeFrame(w io.Writer, kind byte, data []byte) error {
	head := []byte{kind, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(head[1:], uint32(len(data)))
	_, err := w.Write(append(head, data...))
	return err
}

func readFrame(r io.Reader) (byte, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > frameMax {
		return 0, nil, fmt.Errorf("a frame of %d bytes; at most %d are allowed", n, frameMax)
	}
	data := make([]byte, n)
	_, err := io.ReadFull(r, data)
	return head[0], data, err
}

// challenge is the agent's side of the greeting.
func challenge(rw io.ReadWriter, token []byte) (string, error) {
	nonce := make([]byte, nonceSize)
	if _, err := rand.Read(nonce); err != nil {
		return "", err
	}
	if _, err := rw.Write(nonce); err != nil {
		return "", err
	}
	var size [4]byte
	if _, err := io.ReadFull(rw, size[:]); err != nil {
		return "", err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > requestMax {
		return "", errors.New("the request is too large")
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(rw, data); err != nil {
		return "", err
	}
	var q request
	if err := json.Unmarshal(data, &q); err != nil {
		return "", err
	}
	if subtle.ConstantTimeCompare(q.Proof, proof(token, nonce, q.Command)) != 1 {
		return "", errors.New("the proof is wrong: it is not of this workload")
	}
	return q.Command, nil
}

// greet is the shell's side of the greeting.
func greet(rw io.ReadWriter, token []byte, command string) error {
	nonce := make([]byte, nonceSize)
	if _, err := io.ReadFull(rw, nonce); err != nil {
		return err
	}
	data, err := json.Marshal(request{Command: command, Proof: proof(token, nonce, command)})
	if err != nil {
		return err
	}
	if len(data) > requestMax {
		return fmt.Errorf("the command has %d bytes; at most about %d are allowed", len(command), requestMax)
	}
	_, err = rw.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...))
	return err
}

// workers reads WorkersVar.
func workers(text string) map[string]string {
	m := map[string]string{}
	for _, w := range strings.Fields(text) {
		if name, at, ok := strings.Cut(w, "="); ok {
			m[name] = at
		}
	}
	return m
}
