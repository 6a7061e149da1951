package slurm

import (
	"context"
	"time"

	"github.com/musterhq/muster/internal/compat"
)

// iterate does list once, or again and again where --iterate says how often.
func iterate(c *compat.Call, list func(*compat.Call) error) error {
	every, err := c.Int("iterate", 0)
	if err != nil {
		return err
	}
	if err := list(c); err != nil || every < 1 {
		return err
	}
	tick := time.NewTicker(time.Duration(every) * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-c.Context.Done():
			return context.Cause(c.Context)
		case <-tick.C:
			if err := list(c); err != nil {
				return err
			}
		}
	}
}
