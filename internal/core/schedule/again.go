package schedule

// Again plans what was recorded, and asks why the fault's job waits where that
// goes well. It returns the plan, or what has gone wrong again.
func (f *Fault) Again() (*Plan, *Fault) {
	r := &f.Record
	for i := range r.Jobs {
		if sh := r.Jobs[i].Shape; sh != nil && sh.Key == "" { // it comes from a file
			r.Jobs[i].Shape = NewShape(sh.Sets, sh.Groups)
		}
	}
	var plan *Plan
	st := NewState(r.Config)
	again := st.Safely(func() {
		st.load(&r.Snapshot)
		if r.Work != nil {
			st.SetWork(r.Work)
		}
		plan = st.Cycle(r.Now)
		st.Explain(r.Now, f.Job)
	})
	return plan, again
}
