/** Name of the migrated database that test files clone. */
export const TEMPLATE_DATABASE = 'wharf_template'
