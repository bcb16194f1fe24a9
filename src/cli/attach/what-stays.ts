/** Says what becomes of what Wharf has put into a database that is detached. @param force whether it may stay there. */
export const whatStays = ({ force = false }: { readonly force?: boolean }): string =>
  `event logs of what is forgotten, and what imports have left beside it, ${
    force ? 'stay where they are, as does all else' : 'are removed, and all else stays where it is'
  }`
