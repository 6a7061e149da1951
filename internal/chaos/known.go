package chaos

// Faults of the product that are known and being mended; what they lead to is
// counted apart until then.
const (
	stoppedStart = "a container that is told to end while it starts"
	powerLost    = "records of tasks are not on the disk when the power is lost"
	lostOutput   = "the last output of a task that ends without a keeper"
)

// known says what the next violation comes of.
func (c *checker) known(fault string) { c.next = fault }

// knownCode is the known fault that a wrong exit code comes of; empty: none.
func (c *checker) knownCode(run Run, p placed, e *Entry) string {
	told, _ := c.asked(p)
	switch {
	case p.task.State == "lost" && c.any(CutPower):
		return powerLost
	case e.Box && told && p.task.State == "failed":
		return stoppedStart
	}
	return ""
}
