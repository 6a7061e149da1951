import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { asError, type ApiError } from '../api/client'
import { Failure, Loading } from '../ui/basics'

/** A view whose code is loaded when it is first shown: what few look at need not be waited for by all. */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let view: ComponentType<P> | undefined
  return function Lazy(props: P) {
    const [tries, setTries] = useState(0)
    const [error, setError] = useState<ApiError>()
    const [, setShown] = useState(false)
    useEffect(() => {
      if (view) return
      setError(undefined)
      load().then((v) => {
        view = v
        setShown(true)
      }, (e: unknown) => setError(asError(e)))
    }, [tries])
    const View = view
    if (View) return <View {...props} />
    return error ? <Failure error={error} again={() => setTries(tries + 1)} /> : <Loading />
  }
}
