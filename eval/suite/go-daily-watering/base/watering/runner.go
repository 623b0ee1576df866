package watering

import (
	"context"
	"time"
)

// Valve is opened for some time.
type Valve interface {
	OpenFor(d time.Duration) error
}

// Run opens the valve at every time of the plan until the context ends.
// Errors of the valve go to report.
func Run(ctx context.Context, p Plan, v Valve, d time.Duration, report func(error)) {
	for {
		timer := time.NewTimer(time.Until(p.Next(time.Now())))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
			if err := v.OpenFor(d); err != nil {
				report(err)
			}
		}
	}
}
