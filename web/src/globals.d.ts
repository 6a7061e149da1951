declare module 'screens:all' {
  import type { Screen } from './screen'
  /** Every folder of src/screens, put together by tools/web. */
  export const screens: Screen[]
}

declare module '*.css' {}
