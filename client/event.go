package client

import (
	"bufio"
	"bytes"
	"io"
)

// event is one server-sent event.
type event struct {
	id, name string
	data     []byte
}

// eventReader reads server-sent events as the HTML standard has them.
type eventReader struct {
	r  *bufio.Reader
	id string // stays until another comes
}

func newEventReader(r io.Reader) *eventReader { return &eventReader{r: bufio.NewReaderSize(r, 64<<10)} }

// next returns the next event that has data; io.EOF or the reader's error when
// there is none. An event that breaks off is not returned.
func (r *eventReader) next() (event, error) {
	var e event
	has := false
	for {
		line, err := r.r.ReadBytes('\n')
		if err != nil {
			return event{}, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			if !has {
				e = event{}
				continue
			}
			e.id = r.id
			if e.name == "" {
				e.name = "message"
			}
			return e, nil
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "id":
			r.id = string(value)
		case "event":
			e.name = string(value)
		case "data":
			if has {
				e.data = append(e.data, '\n')
			}
			e.data = append(e.data, value...)
			has = true
		}
	}
}
