package face

import (
	"github.com/musterhq/muster/internal/core/spec"
)

// Load reads the workload of a file in any format that muster knows by its
// content.
func Load(c *Call, file string) (*spec.Document, error) {
	data, err := c.Read(file)
	if err != nil {
		return nil, err
	}
	return spec.Parse(data)
}
