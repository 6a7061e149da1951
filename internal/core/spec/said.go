package spec

import "encoding/json"

// Said is what a YAML or JSON document says, as JSON, without defaults and
// whether or not it makes sense: editors show it while it is being written. It
// fails with Errors where it is no document at all.
func Said(data []byte) (json.RawMessage, error) {
	n, _, err := readTree(data)
	if err != nil {
		return nil, err
	}
	return json.Marshal(n.any())
}
