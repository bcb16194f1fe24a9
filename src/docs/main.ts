import { offerCopies } from './copy.ts'
import { startSearch } from './search.ts'

startSearch()
offerCopies()
